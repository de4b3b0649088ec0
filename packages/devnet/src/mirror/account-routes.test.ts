import { manualClock } from '@tallystick/service-kit'
import { afterAll, describe, expect, test } from 'vitest'
import type { AnvilClient } from '../anvil/anvil-client.ts'
import { createConsensusClock } from '../ledger/consensus-clock.ts'
import { createLedger } from '../ledger/ledger.ts'
import { startDevnet } from '../start-devnet.ts'
import { accountNamed, mirror, viemClient } from '../testing/test-clients.fixture.ts'
import { findEntity } from './account-routes.ts'

const devnet = await startDevnet()
afterAll(() => devnet.stop())

const payer = accountNamed(devnet, 'agent-1')
const payTo = accountNamed(devnet, 'operator')
const client = viemClient(devnet, payer)

test('an address requested by two at once becomes one account', async () => {
  const anvil: AnvilClient = {
    call: () => Promise.reject(new Error('code and balance are requested together')),
    batch: async () => ['0x', '0x7'],
  }
  const ledger = createLedger({
    clock: createConsensusClock(manualClock(1_700_000_000_000)),
    anvil,
  })
  const address = `0x${'c7'.repeat(20)}`
  const [single, other] = await Promise.all([
    findEntity(ledger, address),
    findEntity(ledger, address),
  ])
  expect(single).toMatchObject({ id: '0.0.1001', address, kind: 'account' })
  expect(other).toBe(single)
})

describe('/api/v1/accounts', () => {
  test('by id, by number, by EVM address in any case, and by long-zero address: the same account', async () => {
    const number = Number(payer.accountId.split('.')[2])
    const names = [
      payer.accountId,
      String(number),
      payer.evmAddress,
      payer.evmAddress.slice(2).toUpperCase(),
      `0x${number.toString(16).padStart(40, '0')}`,
    ]
    const found = await Promise.all(names.map((name) => mirror(devnet, `/api/v1/accounts/${name}`)))
    for (const { body } of found) {
      expect(body).toMatchObject({
        account: payer.accountId,
        evm_address: payer.evmAddress,
        deleted: false,
        key: { _type: 'ECDSA_SECP256K1', key: expect.stringMatching(/^0[23][0-9a-f]{64}$/) },
      })
    }
  })

  test('ED25519 accounts have no alias and a long-zero address', async () => {
    const { accountId, evmAddress } = accountNamed(devnet, 'ed25519')
    const { body } = await mirror(devnet, `/api/v1/accounts/${accountId}`)
    expect(body).toMatchObject({ alias: null, evm_address: evmAddress, key: { _type: 'ED25519' } })
    expect(evmAddress).toMatch(/^0x0{36}/)
  })

  test('the nonce of EVM transactions', async () => {
    const { address } = client.account
    await client.sendTransaction({ to: address, gasPrice: await client.getGasPrice() })
    const { body } = await mirror(devnet, `/api/v1/accounts/${address}`)
    expect(body['ethereum_nonce']).toBe(1)
  })

  test('404 for an unknown, 400 for a malformed one', async () => {
    expect((await mirror(devnet, '/api/v1/accounts/0.0.999999')).status).toBe(404)
    expect((await mirror(devnet, `/api/v1/accounts/0x${'ab'.repeat(20)}`)).status).toBe(404)
    expect((await mirror(devnet, '/api/v1/accounts/0xab')).status).toBe(400)
  })

  test('lists and balances page by account id', async () => {
    const accounts = await mirror(devnet, '/api/v1/accounts?limit=3&account.id=gte:1001')
    expect(
      (accounts.body['accounts'] as { account: string }[]).map(({ account }) => account),
    ).toEqual(['0.0.1001', '0.0.1002', '0.0.1003'])
    const links = accounts.body['links'] as { next: string }
    const next = await mirror(devnet, links.next)
    expect(next.body['accounts']).toMatchObject([{ account: '0.0.1004' }, {}, {}])
    const balances = await mirror(devnet, `/api/v1/balances?account.id=${payTo.accountId}`)
    expect(balances.body['balances']).toEqual([
      { account: payTo.accountId, balance: 1_000_000 * 1e8, tokens: [] },
    ])
  })
})
