// A block that gathers the changes of a window. anvil's pool holds its transactions until it is closed. A native change after a
// transaction, and gas beyond a block's, close it and begin another.

import type { Hex } from 'viem'
import { type AnvilClient, AnvilRefused, type InnerReceipt } from '../anvil/anvil-client.ts'
import { BLOCK_GAS_MAX } from './network.ts'

/** anvil leaves out what can no longer be paid for, since an earlier transaction of the block has spent it. */
const SPENT_MEANWHILE = { code: -32_003, message: 'Insufficient funds for gas * price + value' }

type Entry = {
  hash: Hex
  receipt: PromiseWithResolvers<InnerReceipt>
  /** What waits for the receipt. */
  job: Promise<void> | undefined
}

export type OpenBlock = ReturnType<typeof createOpenBlock>

/** `mine` closes anvil's block at a consensus timestamp. The caller holds the queue. */
export function createOpenBlock(anvil: AnvilClient, mine: (consensusNs: bigint) => Promise<void>) {
  let entries: Entry[] = []
  let gas = 0n
  /** Of the newest change, undefined while there is none. */
  let newestNs: bigint | undefined
  /** Resolves as the current job's transaction has joined. */
  let joined = Promise.withResolvers<Entry>()

  /** Closes the block, and lets the jobs in it end one after another, in their order. */
  async function close(): Promise<void> {
    const closed = entries
    if (newestNs === undefined) return
    await mine(newestNs)
    entries = []
    gas = 0n
    newestNs = undefined
    const receipts = await anvil.batch(
      closed.map(({ hash }) => ['eth_getTransactionReceipt', [hash]]),
    )
    for (const [index, { job, receipt }] of closed.entries()) {
      const found = receipts[index] as InnerReceipt | null
      if (found === null) receipt.reject(new AnvilRefused(SPENT_MEANWHILE))
      else receipt.resolve(found)
      await job?.catch(() => undefined)
    }
  }

  return {
    /** Runs jobs in order, each until its change is in the block, and closes it. */
    async run(jobs: readonly (() => Promise<void>)[]): Promise<void> {
      await anvil.call('evm_setAutomine', [false])
      try {
        for (const start of jobs) {
          joined = Promise.withResolvers()
          const job = start()
          const entry = await Promise.race([job.catch(() => undefined), joined.promise])
          if (entry !== undefined) entry.job = job
        }
        await close()
      } finally {
        await anvil.call('evm_setAutomine', [true])
      }
    },
    /** Puts a transaction into the block; its receipt comes as the block is closed. @throws AnvilRefused */
    async join(transaction: {
      sent: object
      gas: bigint
      consensusNs: bigint
    }): Promise<InnerReceipt> {
      if (gas + transaction.gas > BigInt(BLOCK_GAS_MAX)) await close()
      const hash = (await anvil.call('eth_sendTransaction', [transaction.sent])) as Hex
      const entry: Entry = { hash, receipt: Promise.withResolvers(), job: undefined }
      entries.push(entry)
      gas += transaction.gas
      newestNs = transaction.consensusNs
      joined.resolve(entry)
      return entry.receipt.promise
    },
    /** Called before balances are set at a consensus timestamp. */
    async beforeBalances(consensusNs: bigint): Promise<void> {
      if (entries.length > 0) await close()
      newestNs = consensusNs
    },
  }
}
