import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Devnet, startDevnet } from '../start-devnet.ts'
import { accountNamed, rpc, viemClient } from '../testing/test-clients.fixture.ts'
import { LOGGING_CONTRACT } from '../testing/tiny-contracts.fixture.ts'

const EXCHANGE_RATE = '0x0000000000000000000000000000000000000168'
const TOPIC = `0x${'2a'.padStart(64, '0')}` as const

let devnet: Devnet
beforeAll(async () => {
  devnet = await startDevnet()
})
afterAll(async () => {
  await devnet.stop()
})

test.each([
  ['eth_getBalance', ['0x12', 'latest'], -32602],
  ['eth_getBalance', [], -32602],
  ['eth_getBalance', [EXCHANGE_RATE], -32602],
  ['eth_getBlockByNumber', ['latest'], -32602],
  ['eth_getUncleCountByBlockHash', ['0x12'], -32602],
  ['eth_getTransactionByBlockNumberAndIndex', ['latest', 1], -32602],
  ['eth_getCode', [EXCHANGE_RATE, 'soon'], -32602],
  ['eth_getTransactionReceipt', ['0x12'], -32602],
  ['eth_getBlockByNumber', ['soon', false], -32602],
  ['eth_getLogs', [{ fromBlock: '0x2', toBlock: '0x1' }], -39013],
  ['eth_getLogs', [{ toBlock: '0x1' }], -32011],
  ['eth_sendRawTransaction', ['nonsense'], -32602],
  ['eth_getLogs', [{ address: '0x12' }], -32602],
  ['eth_getLogs', [{ address: [7] }], -32602],
  ['eth_getLogs', [{ topics: 'all' }], -32602],
  ['eth_getLogs', [{ topics: ['0x2a'] }], -32602],
  ['eth_getLogs', [{ topics: [[null, 7]] }], -32602],
  ['eth_getLogs', [{ topics: [null, null, null, null, null] }], -32602],
  ['eth_newFilter', [{ address: 'me' }], -32602],
  ['eth_getStorageAt', [EXCHANGE_RATE, 'first', 'latest'], -32602],
  ['eth_getStorageAt', [EXCHANGE_RATE, 0, 'latest'], -32602],
  ['eth_getStorageAt', [EXCHANGE_RATE], -32602],
  ['eth_call', [{ to: '0x12' }], -32602],
  ['eth_call', [{ to: EXCHANGE_RATE, from: 7 }], -32602],
  ['eth_call', [{ to: EXCHANGE_RATE, data: '0xabc' }], -32602],
  ['eth_call', [{ to: EXCHANGE_RATE, data: 'call' }], -32602],
  ['eth_call', [{ to: EXCHANGE_RATE, value: 'much' }], -32602],
  ['eth_call', [{ to: EXCHANGE_RATE }, 'latest', 'none'], -32602],
  ['eth_call', [{ to: EXCHANGE_RATE }, 'latest', { me: { balance: 'much' } }], -32602],
  ['eth_estimateGas', [{ to: 'there' }], -32602],
  ['eth_getTransactionCount', [EXCHANGE_RATE, '0xffffff'], -39012],
  ['eth_call', [{ to: EXCHANGE_RATE }, '0xffffff'], -39012],
])('%s with %j is refused with %i', async (method, parameters, code) => {
  expect((await rpc(devnet, method, parameters)).error?.code).toBe(code)
})

test('logs of one address, of several, and by a choice of topics', async () => {
  const client = viemClient(devnet, accountNamed(devnet, 'agent-1'))
  const gasPrice = await client.getGasPrice()
  const made = await client.deployContract({ abi: [], bytecode: LOGGING_CONTRACT, gasPrice })
  const { contractAddress: address } = await client.getTransactionReceipt({ hash: made })
  const hash = await client.sendTransaction({ to: address, data: '0x07', gasPrice })
  const fromBlock = (await rpc(devnet, 'eth_blockNumber')).result
  const own = [{ transactionHash: hash, data: '0x07' }]
  for (const [criteria, logs] of [
    [{ address }, own],
    [{ address: [EXCHANGE_RATE, address], topics: null }, own],
    [{ address, topics: [[`0x${'00'.repeat(32)}`, TOPIC]] }, own],
    [{ address: null, topics: [null] }, own],
    [{ address, topics: [`0x${'00'.repeat(32)}`] }, []],
    [{ address: EXCHANGE_RATE }, []],
  ] as const) {
    const { result } = await rpc(devnet, 'eth_getLogs', [{ fromBlock, ...criteria }])
    expect(result).toMatchObject(logs)
    expect(result).toHaveLength(logs.length)
  }
})
