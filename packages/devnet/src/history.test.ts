import { type Hex, numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { STATES_KEPT } from './ledger/evm.ts'
import { createRecordStore, EVM_RECORDS_KEPT, type TransactionRecord } from './ledger/records.ts'
import { type Devnet, startDevnet } from './start-devnet.ts'
import { accountNamed, mirror, rpc, viemClient } from './testing/test-clients.fixture.ts'

const receiver = '0x00000000000000000000000000000000000003ea'

const record = (at: number, evm?: TransactionRecord['evm']): TransactionRecord => ({
  consensusNs: BigInt(at),
  name: 'CRYPTOTRANSFER',
  id: { account: '0.0.2', validStartNs: BigInt(at) },
  isScheduled: false,
  result: 'SUCCESS',
  chargedFeeTinybar: 0n,
  maxFeeTinybar: 0n,
  memo: new Uint8Array(),
  node: null,
  hash: new Uint8Array(),
  validDurationSeconds: null,
  entityId: null,
  transfers: [],
  ...(evm === undefined ? {} : { evm }),
})

describe('L19: history is bounded', () => {
  let devnet: Devnet
  let hash: Hex
  let block: number

  beforeAll(async () => {
    devnet = await startDevnet()
    const client = viemClient(devnet, accountNamed(devnet, 'agent-1'))
    hash = await client.sendTransaction({ to: receiver, gasPrice: await client.getGasPrice() })
    block = Number((await client.getTransactionReceipt({ hash })).blockNumber)
    for (let more = 0; more <= STATES_KEPT; more += 1) {
      await devnet.controls.setBalanceTinybar('0.0.1010', BigInt(more))
    }
  })
  afterAll(() => devnet.stop())

  test.each([
    ['eth_getBalance', [receiver]],
    ['eth_getTransactionCount', [receiver]],
    ['eth_getCode', [receiver]],
    ['eth_call', [{ to: receiver }]],
  ])(
    '%s at a block whose state is forgotten: Unknown block, as the relay says',
    async (method, p) => {
      const { error } = await rpc(devnet, method, [...p, numberToHex(block)])
      expect(error).toMatchObject({ code: -39012, message: 'Unknown block' })
      expect(await rpc(devnet, method, [...p, 'latest'])).toHaveProperty('result')
    },
  )

  test('its transaction, receipt and record are still there, with what it moved', async () => {
    const { result } = await rpc(devnet, 'eth_getTransactionReceipt', [hash])
    expect(result).toMatchObject({ status: '0x1', blockNumber: numberToHex(block) })
    expect((await mirror(devnet, `/api/v1/contracts/results/${hash}`)).status).toBe(200)
    const { body } = await mirror(
      devnet,
      '/api/v1/transactions?transactiontype=ETHEREUMTRANSACTION',
    )
    expect(body['transactions']).toMatchObject([{ transfers: expect.arrayContaining([]) }])
  })

  test('a lag beyond the states that are kept shows the oldest of them', async () => {
    devnet.controls.setReadLagMs(3_600_000)
    const shown = Number((await rpc(devnet, 'eth_blockNumber')).result)
    expect(shown).toBeGreaterThan(block)
    expect(await rpc(devnet, 'eth_getBalance', [receiver, 'latest'])).toHaveProperty('result')
    devnet.controls.setReadLagMs(0)
  })
})

describe('L19: records', () => {
  test('the oldest EVM records are forgotten, native transfers never', () => {
    const forgotten: string[] = []
    const store = createRecordStore(({ evm }) => forgotten.push(evm?.hash ?? ''))
    store.add(record(1))
    const count = EVM_RECORDS_KEPT + 1_500
    for (let at = 0; at < count; at += 1) {
      store.add(record(at + 2, { hash: numberToHex(at), innerHash: '0x', blockNumber: at }))
    }
    const stored = store.between({ from: 0n, to: BigInt(count) + 2n })
    expect(stored[0]?.evm).toBeUndefined()
    expect(stored.length).toBe(count + 1 - forgotten.length)
    expect(stored.length).toBeLessThanOrEqual(EVM_RECORDS_KEPT + 1_001)
    expect(forgotten).toEqual(forgotten.map((_hash, at) => numberToHex(at)))
    expect(store.byTransactionId('0.0.2-0-000000002')).toEqual([])
    expect(store.byTransactionId('0.0.2-0-000000001')).toHaveLength(1)
  })
})
