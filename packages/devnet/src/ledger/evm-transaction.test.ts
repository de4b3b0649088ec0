import { type Hex, stringToHex } from 'viem'
import { afterAll, expect, test } from 'vitest'
import { startDevnet } from '../start-devnet.ts'
import { accountNamed, mirror, rpc, viemClient } from '../testing/test-clients.fixture.ts'

const devnet = await startDevnet()
afterAll(() => devnet.stop())
const client = viemClient(devnet, accountNamed(devnet, 'agent-1'))

test.each<[what: string, code: Hex, reason: string]>([
  ['a stack without items', '0x01', 'INSUFFICIENT_STACK_ITEMS'],
  ['an invalid opcode', '0xfe', 'INVALID_OPERATION'],
  ['an opcode that is none', '0x0c', 'INVALID_OPERATION'],
  ['a jump to nowhere', '0x600456', 'INVALID_JUMP_DESTINATION'],
  ['an endless loop', '0x5b5f56', 'INSUFFICIENT_GAS'],
  ['code that begins with 0xef', '0x60ef5f5360015ff3', 'INVALID_CODE'],
])(
  'L3: %s halts with the network’s code and reason, and not as a revert',
  async (_, code, reason) => {
    const result = reason === 'INSUFFICIENT_GAS' ? reason : 'CONTRACT_EXECUTION_EXCEPTION'
    const gasPrice = await client.getGasPrice()
    const hash = await client.sendTransaction({ data: code, gas: 100_000n, gasPrice })
    const { body } = await mirror(devnet, `/api/v1/contracts/results/${hash}`)
    expect(body).toMatchObject({ result, status: '0x0', error_message: reason })
    const { result: receipt } = await rpc(devnet, 'eth_getTransactionReceipt', [hash])
    expect(receipt).toMatchObject({ status: '0x0', revertReason: stringToHex(reason) })
    const traced = await mirror(devnet, `/api/v1/contracts/results/${hash}/actions`)
    const [action] = traced.body['actions'] as { result_data: Hex; result_data_type: string }[]
    expect(action).toEqual(
      expect.objectContaining({ result_data: stringToHex(reason), result_data_type: 'ERROR' }),
    )
  },
)

test('a revert stays one', async () => {
  const gasPrice = await client.getGasPrice()
  const hash = await client.sendTransaction({ data: '0x5f5ffd', gas: 100_000n, gasPrice })
  const { body } = await mirror(devnet, `/api/v1/contracts/results/${hash}`)
  expect(body).toMatchObject({ result: 'CONTRACT_REVERT_EXECUTED', error_message: '0x' })
})
