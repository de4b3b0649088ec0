// Blocks as the network has them: what reaches consensus within two seconds is in one. The ledger's clock stands still, so a window
// ends when the test says so.
import { TransferTransaction } from '@hiero-ledger/sdk'
import { manualClock } from '@tallystick/service-kit'
import { type Hex, parseEther, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from './start-devnet.ts'
import { accountNamed, mirror, rpc, viemClient } from './testing/test-clients.fixture.ts'
import { LOGGING_CONTRACT } from './testing/tiny-contracts.fixture.ts'
import { sdkClient, toMirrorId } from './testing/transfer.fixture.ts'

const clock = manualClock(1_800_000_000_000)
let devnet: Devnet
let contract: Hex
let gasPrice: bigint

const openClient = (name: string) => viemClient(devnet, accountNamed(devnet, name))

const signCall = (name: string, nonce: number): Promise<Hex> =>
  openClient(name).signTransaction({
    to: contract,
    data: '0xabcd',
    gas: 50_000n,
    gasPrice,
    nonce,
    type: 'legacy',
  })

/** Sends in that order, ends the window, and returns the answers. */
async function sendInWindow(raws: readonly Hex[]) {
  const sends: ReturnType<typeof rpc>[] = []
  for (const raw of raws) {
    sends.push(rpc(devnet, 'eth_sendRawTransaction', [raw]))
    await expect.poll(() => devnet.controls.waitingChanges()).toBe(sends.length)
  }
  clock.advanceMs(2_000)
  return Promise.all(sends)
}

beforeAll(async () => {
  devnet = await startDevnet({ clock })
  const client = openClient('agent-1')
  gasPrice = await client.getGasPrice()
  const hash = await client.deployContract({ abi: [], bytecode: LOGGING_CONTRACT, gasPrice })
  const receipt = await client.getTransactionReceipt({ hash })
  contract = receipt.contractAddress ?? '0x'
  devnet.controls.setBlockMs(2_000)
})
afterAll(() => devnet.stop())

describe('L4: what reaches consensus within a window shares a block', () => {
  test('L4: three transactions of two senders have true indexes, gas that adds up, and one block', async () => {
    const raws = [
      await signCall('agent-1', 1),
      await signCall('agent-2', 0),
      await signCall('agent-1', 2),
    ]
    const ordered = (await sendInWindow(raws)).map(({ result }) => result as Hex)
    const client = openClient('agent-1')
    const receipts = await Promise.all(
      ordered.map((hash) => client.getTransactionReceipt({ hash })),
    )
    expect(receipts.map(({ status }) => status)).toEqual(['success', 'success', 'success'])
    expect(new Set(receipts.map(({ blockHash }) => blockHash)).size).toBe(1)
    expect(receipts.map(({ transactionIndex }) => transactionIndex)).toEqual([0, 1, 2])
    const gasUsed = receipts.reduce((sum, receipt) => sum + receipt.gasUsed, 0n)
    expect(receipts.at(-1)?.cumulativeGasUsed).toBe(gasUsed)
    const at = toHex(receipts[0]?.blockNumber ?? 0n)
    const { result } = await rpc(devnet, 'eth_getBlockByNumber', [at, false])
    expect(result).toMatchObject({ transactions: ordered, gasUsed: toHex(gasUsed) })
    const second = await rpc(devnet, 'eth_getTransactionByBlockNumberAndIndex', [at, '0x1'])
    expect(second.result).toMatchObject({ hash: ordered[1], transactionIndex: '0x1' })
    expect((await rpc(devnet, 'eth_getBlockReceipts', [at])).result).toHaveLength(3)
    expect(
      (await rpc(devnet, 'eth_getLogs', [{ fromBlock: at, toBlock: at }])).result,
    ).toHaveLength(3)
    const { body } = await mirror(devnet, `/api/v1/contracts/results?block.number=${Number(at)}`)
    const rows = body['results'] as {
      hash: Hex
      transaction_index: number
      block_gas_used: number
    }[]
    expect(rows.toReversed()).toMatchObject(
      ordered.map((hash, index) => ({
        hash,
        transaction_index: index,
        block_gas_used: Number(gasUsed),
      })),
    )
    const block = await mirror(devnet, `/api/v1/blocks/${Number(at)}`)
    expect(block.body).toMatchObject({ count: 3, gas_used: Number(gasUsed) })
  })

  test('L4: what the sender can no longer pay for, since an earlier one of the block has spent it, never runs', async () => {
    const from = await devnet.createAccount({
      name: 'nearly broke',
      balanceTinybar: 1_000_000_000n,
    })
    const client = viemClient(devnet, from)
    const to = accountNamed(devnet, 'agent-3').evmAddress
    const raws = await Promise.all(
      [0, 1].map((nonce) =>
        client.signTransaction({
          to,
          nonce,
          gas: 21_000n,
          gasPrice,
          value: parseEther('6'),
          type: 'legacy',
        }),
      ),
    )
    const [first, second] = await sendInWindow(raws)
    expect(first).toHaveProperty('result')
    expect(second).toMatchObject({
      error: { message: expect.stringContaining('INSUFFICIENT_PAYER_BALANCE') },
    })
    expect(await client.getTransactionCount({ address: client.account.address })).toBe(1)
  })

  test('L4: a native transfer waits for its window too, and ranges of blocks are disjoint', async () => {
    const payer = accountNamed(devnet, 'agent-4')
    const sdk = sdkClient(devnet, payer)
    const transfer = new TransferTransaction()
      .addHbarTransfer(payer.accountId, -1)
      .addHbarTransfer('0.0.1002', 1)
    const { transactionId } = await transfer.execute(sdk)
    const path = `/api/v1/transactions/${toMirrorId(transactionId)}`
    await expect.poll(() => devnet.controls.waitingChanges()).toBe(1)
    expect((await mirror(devnet, path)).status).toBe(404)
    clock.advanceMs(2_000)
    await expect.poll(async () => (await mirror(devnet, path)).status).toBe(200)
    sdk.close()
    const { body } = await mirror(devnet, '/api/v1/blocks?limit=100&order=asc')
    const blocks = body['blocks'] as { timestamp: { from: string; to: string } }[]
    const [, ...later] = blocks
    const overlaps = later.filter(
      ({ timestamp }, at) => timestamp.from <= (blocks[at]?.timestamp.to ?? ''),
    )
    expect(overlaps).toEqual([])
  })

  test('L4: with setBlockMs(0), each change gets its own block at once again', async () => {
    devnet.controls.setBlockMs(0)
    const raw = await signCall('agent-2', 1)
    expect(await rpc(devnet, 'eth_sendRawTransaction', [raw])).toHaveProperty('result')
  })
})
