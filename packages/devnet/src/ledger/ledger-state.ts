// The whole ledger as bytes: what anvil holds, and what is known beyond it. Faults and lags belong to a process and are no part
// of it. Blocks stay readable; states of blocks before the moment of the snapshot are gone.

import { deserialize, serialize } from 'node:v8'
import type { AnvilGenerations } from '../anvil/anvil-generations.ts'
import { completeOpenTransfers } from './complete-transfers.ts'
import type { DevnetAccount } from './genesis.ts'
import type { Ledger } from './ledger.ts'
import type { Scheduler } from './scheduler.ts'

/** Grows whenever older bytes can no longer be read. */
const FORMAT = 4

/** Bytes that are no ledger, or one of another version. */
export class StateUnreadable extends Error {
  override name = 'StateUnreadable'
}

export type StateParts = {
  ledger: Ledger
  anvil: AnvilGenerations
  scheduler: Scheduler
  /** The accounts whose keys are known. */
  accounts: DevnetAccount[]
}

/** The objects whose contents a snapshot replaces; the objects themselves stay. */
function listContents({ ledger, scheduler }: StateParts): Readonly<Record<string, object>> {
  const { accounts, evm, files, prices, records, settings, tokens, topics, transactions, waiting } =
    ledger
  return {
    accounts: accounts.state,
    evm: evm.state,
    files,
    prices,
    records: records.state,
    schedules: scheduler.state,
    settings,
    tokens: tokens.state,
    topics,
    waiting,
    transactions: transactions.state,
  }
}

/** The ledger as it is now. The caller holds the queue. */
export async function takeState(parts: StateParts): Promise<Buffer> {
  const { accounts, anvil, ledger } = parts
  await completeOpenTransfers(ledger)
  return serialize({
    format: FORMAT,
    anvil: await anvil.dump(),
    unixMs: ledger.clock.unixMs(),
    accounts,
    contents: listContents(parts),
  })
}

type Saved = {
  format: number
  anvil: string
  unixMs: number
  accounts: DevnetAccount[]
  contents: Record<string, object>
}

/** Makes the ledger what it was; its time never goes back. The caller holds the queue. @throws StateUnreadable */
export async function restoreState(parts: StateParts, bytes: Buffer): Promise<void> {
  const saved = read(bytes)
  const { anvil, ledger, scheduler } = parts
  const contents = listContents(parts)
  for (const [name, content] of Object.entries(contents)) {
    Object.assign(content, saved.contents[name])
  }
  const newest = ledger.evm.newestBlock()
  await anvil.load(saved.anvil, newest)
  ledger.evm.state.firstState = newest
  parts.accounts.splice(0, parts.accounts.length, ...saved.accounts)
  ledger.clock.travelTo(saved.unixMs)
  await scheduler.resume()
}

function read(bytes: Buffer): Saved {
  let saved: Saved | undefined
  try {
    saved = deserialize(bytes) as Saved
  } catch (cause) {
    throw new StateUnreadable('this is no state of a local Hedera', { cause })
  }
  if (saved.format === FORMAT) return saved
  throw new StateUnreadable('this state was written by another version')
}
