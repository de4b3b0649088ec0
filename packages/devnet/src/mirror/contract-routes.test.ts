import { type Address, getContractAddress, type Hex, parseEther } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDevnet } from '../start-devnet.ts'
import { accountNamed, mirror, viemClient } from '../testing/test-clients.fixture.ts'
import {
  CREATING_CONTRACT,
  FORWARDING_CONTRACT,
  LOGGING_CONTRACT,
  TWICE_LOGGING_CONTRACT,
} from '../testing/tiny-contracts.fixture.ts'

const devnet = await startDevnet()
afterAll(() => devnet.stop())

const payer = accountNamed(devnet, 'agent-1')
const client = viemClient(devnet, accountNamed(devnet, 'agent-2'))
const gasPrice = await client.getGasPrice()

async function deploy(bytecode: Hex): Promise<Address> {
  const hash = await client.deployContract({ abi: [], bytecode, gasPrice })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  if (contractAddress == null) throw new Error('nothing was deployed')
  return contractAddress
}

describe('contracts’ own doings', () => {
  test('an address paid by a contract is an account', async () => {
    const to = await deploy(FORWARDING_CONTRACT)
    const paid = `0x${'c7'.repeat(20)}`
    const data = `0x${paid.slice(2).padStart(64, '0')}` as const
    await client.sendTransaction({ to, data, value: parseEther('1'), gasPrice })
    expect(await mirror(devnet, `/api/v1/accounts/${paid}`)).toMatchObject({
      status: 200,
      body: { balance: { balance: 100_000_000 } },
    })
  })

  test('a contract created by a contract is one, even if it was paid before anyone requested it', async () => {
    const factory = await deploy(CREATING_CONTRACT)
    await client.sendTransaction({ to: factory, gas: 200_000n, gasPrice })
    const made = getContractAddress({ from: factory, nonce: 1n }).toLowerCase() as Address
    await client.sendTransaction({ to: made, value: parseEther('1'), gas: 60_000n, gasPrice })
    expect(await mirror(devnet, `/api/v1/contracts/${made}`)).toMatchObject({
      status: 200,
      body: { evm_address: made, runtime_bytecode: '0x00' },
    })
  })

  test('pages of logs lead through all of them, even if one transaction has several', async () => {
    const contract = await deploy(TWICE_LOGGING_CONTRACT)
    for (const data of ['0x0a', '0x0b'] as const) {
      await client.sendTransaction({ to: contract, data, gasPrice })
    }
    for (const order of ['asc', 'desc']) {
      const seen: string[] = []
      let path: string | null = `/api/v1/contracts/${contract}/results/logs?order=${order}&limit=1`
      while (path !== null) {
        const { body } = await mirror(devnet, path)
        const logs = body['logs'] as { data: string; index: number }[]
        seen.push(...logs.map(({ data, index }) => `${data} ${index}`))
        path = (body['links'] as { next: string | null }).next
      }
      const expected = ['0x0a 0', '0x0a 1', '0x0b 0', '0x0b 1']
      expect(seen).toEqual(order === 'asc' ? expected : expected.toReversed())
    }
  })
})

describe('L13: /api/v1/contracts and /api/v1/blocks', () => {
  let contract: Hex
  let hash: Hex
  beforeAll(async () => {
    const deployed = await client.deployContract({ abi: [], bytecode: LOGGING_CONTRACT, gasPrice })
    const receipt = await client.waitForTransactionReceipt({ hash: deployed })
    contract = receipt.contractAddress ?? '0x'
    hash = await client.sendTransaction({ to: contract, data: '0xabcd', gasPrice })
  })

  test('a contract, by id and address', async () => {
    const { body } = await mirror(devnet, `/api/v1/contracts/${contract}`)
    expect(body).toMatchObject({
      evm_address: contract,
      bytecode: LOGGING_CONTRACT,
      deleted: false,
    })
    expect((await mirror(devnet, `/api/v1/contracts/${String(body['contract_id'])}`)).body).toEqual(
      body,
    )
    expect((await mirror(devnet, `/api/v1/contracts/${payer.accountId}`)).status).toBe(404)
  })

  test('a system contract has the number in its address', async () => {
    const { body } = await mirror(devnet, `/api/v1/contracts/0x${'168'.padStart(40, '0')}`)
    expect(body).toMatchObject({ contract_id: '0.0.360' })
  })

  test('a result by the hash that viem computed, with its logs', async () => {
    const { body } = await mirror(devnet, `/api/v1/contracts/results/${hash}`)
    expect(body).toMatchObject({
      hash,
      result: 'SUCCESS',
      status: '0x1',
      from: client.account.address.toLowerCase(),
      to: contract,
      function_parameters: '0xabcd',
      logs: [
        { address: contract, data: '0xabcd', index: 0, topics: [`0x${'2a'.padStart(64, '0')}`] },
      ],
    })
    const listed = await mirror(devnet, `/api/v1/contracts/${contract}/results?limit=1`)
    expect(listed.body['results']).toMatchObject([{ hash }])
    const missing = await mirror(devnet, `/api/v1/contracts/results/0x${'00'.repeat(32)}`)
    expect(missing.status).toBe(404)
  })

  test('logs of a contract, by topic', async () => {
    const found = await mirror(devnet, `/api/v1/contracts/${contract}/results/logs?topic0=0x2a`)
    expect(found.body['logs']).toMatchObject([{ transaction_hash: hash, data: '0xabcd' }])
    const none = await mirror(devnet, `/api/v1/contracts/${contract}/results/logs?topic0=0x2b`)
    expect(none.body['logs']).toEqual([])
  })

  test('blocks page and agree with JSON-RPC', async () => {
    const { blockNumber, blockHash } = await client.getTransactionReceipt({ hash })
    const { body } = await mirror(devnet, `/api/v1/blocks/${blockNumber}`)
    expect(String(body['hash'])).toMatch(new RegExp(`^${blockHash}[0-9a-f]{32}$`))
    expect((await mirror(devnet, `/api/v1/blocks/${blockHash}`)).body).toEqual(body)
    expect(body).toMatchObject({ count: 1, number: Number(blockNumber) })
    const page = await mirror(
      devnet,
      `/api/v1/blocks?limit=2&order=asc&block.number=gte:${blockNumber - 1n}`,
    )
    expect((page.body['blocks'] as { number: number }[]).map(({ number }) => number)).toEqual([
      Number(blockNumber) - 1,
      Number(blockNumber),
    ])
    const newest = await mirror(devnet, '/api/v1/blocks?limit=1')
    expect(newest.body['blocks']).toMatchObject([{ number: expect.any(Number) }])
    expect((await mirror(devnet, '/api/v1/blocks/99999999')).status).toBe(404)
  })
})
