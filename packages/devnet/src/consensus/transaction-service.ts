// The life of a transaction from the node's first check to its record: duplicates, transactions held or lost on purpose, and
// what a client learns if it asks for a receipt meanwhile.

import { type Clock, pause } from '@tallystick/service-kit'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTransactionId, type TransactionRecord } from '../ledger/records.ts'
import {
  type Content,
  decodeSignedTransaction,
  type SignedTransaction,
  type Status,
} from '../ledger/signed-transaction.ts'
import { handleTransaction } from './handle-transaction.ts'
import { judgeTime, precheckTransaction } from './precheck-transaction.ts'

/** What a client learns about a transaction id. */
export type Knowledge =
  | { kind: 'unknown' }
  | { kind: 'pending' }
  | { kind: 'handled'; record: TransactionRecord }

/** The transfers of the consensus edge. */
export type TransactionService = ReturnType<typeof createTransactionService>

/** `wall` judges validity and remembers ids: the SDK stamps wall time, wherever the ledger has travelled to. */
export function createTransactionService(ledger: Ledger, wall: Pick<Clock, 'unixMs'>) {
  const memory = createTransactionMemory(wall)
  let waiting: SignedTransaction[] = []
  const wallNs = (): bigint => BigInt(Math.floor(wall.unixMs())) * 1_000_000n

  async function handle(transaction: SignedTransaction): Promise<void> {
    const remembered = memory.find(transactionIdText(transaction))
    const time = judgeTime(transaction, { wallNs: wallNs(), secondsLeft: 0n })
    let forced = time === 'OK' ? takeForced(ledger, 'consensus') : time
    if (remembered?.record !== undefined) forced = 'DUPLICATE_TRANSACTION'
    const record = await handleTransaction(ledger, { transaction, forced })
    if (remembered !== undefined) remembered.record ??= record
  }

  function toConsensus(transaction: SignedTransaction): void {
    if (ledger.faults.isConsensusHeld) {
      waiting.push(transaction)
      return
    }
    if (ledger.faults.transfersToDrop > 0) {
      ledger.faults.transfersToDrop -= 1
      return
    }
    const isAlone = hasOwnBlock(transaction.content)
    const job = (): Promise<void> => handle(transaction)
    const handling = (isAlone ? ledger.queue.run(job) : ledger.windows.run(job)).catch(
      (cause: unknown) => {
        process.stderr.write(
          `devnet: ${transactionIdText(transaction)} was lost: ${String(cause)}\n`,
        )
      },
    )
    const remembered = memory.find(transactionIdText(transaction))
    if (remembered !== undefined) remembered.handling ??= handling
  }

  async function submitted(transaction: SignedTransaction): Promise<void> {
    const { consensusDelayMs } = ledger.faults
    if (consensusDelayMs > 0) await pause(ledger.clock, consensusDelayMs)
    toConsensus(transaction)
  }

  return {
    /** The node's answer to a transaction: `OK`, or why not. */
    async submit(request: Buffer, bytesMax?: number): Promise<Status> {
      const transaction = decodeSignedTransaction(request, bytesMax)
      if (typeof transaction === 'string') return transaction
      const forced = takeForced(ledger, 'precheck')
      if (forced !== undefined) return forced
      const id = transactionIdText(transaction)
      const node = transaction.nodeNumber ?? 0
      // Remembered before the asynchronous checks, so that of two at once, one is the duplicate.
      const isKnown = memory.add(id, node)
      const status = await precheckTransaction(ledger, { transaction, wallNs: wallNs(), isKnown })
      if (status === 'OK') void submitted(transaction)
      else if (!isKnown) memory.remove(id, node)
      return status
    },
    /** What is known about a transaction id in its mirror form, once any consensus under way has ended. */
    async lookup(mirrorId: string): Promise<Knowledge> {
      const remembered = memory.find(mirrorId)
      // A client that finds nothing waits a quarter of a second before it asks again; this wait takes milliseconds.
      await remembered?.handling
      if (remembered === undefined) return lookupEvm(ledger, mirrorId)
      return remembered.record === undefined
        ? { kind: 'pending' }
        : { kind: 'handled', record: remembered.record }
    },
    /** Forgets every id, since the ledger has gone back. */
    forget: () => memory.clear(),
    /** How many transfers are held. */
    heldCount: () => waiting.length,
    /** Handles the held transfers. */
    release(): void {
      const released = waiting
      waiting = []
      for (const transaction of released) toConsensus(transaction)
    },
  }
}

/** What came through the JSON-RPC edge has an id too, which the mirror node shows. */
function lookupEvm(ledger: Ledger, mirrorId: string): Knowledge {
  const [record] = ledger.records.byTransactionId(mirrorId)
  if (record?.evm === undefined) return { kind: 'unknown' }
  const ageMs = ledger.clock.unixMs() - Number(record.consensusNs / 1_000_000n)
  return ageMs > REMEMBERED_MS ? { kind: 'unknown' } : { kind: 'handled', record }
}

/** A contract transaction's payer gets its nonce back right after it; of tokens, the next transaction is judged by what the last left. */
function hasOwnBlock(content: Content): boolean {
  const { kind } = content
  if (kind === 'cryptoTransfer') return content.tokens.length > 0
  return kind.startsWith('contract') || /^(?:token|schedule|cryptoApprove)/.test(kind)
}

function takeForced(ledger: Ledger, at: 'precheck' | 'consensus'): Status | undefined {
  const index = ledger.faults.refusals.findIndex((refusal) => refusal.at === at)
  return index < 0 ? undefined : ledger.faults.refusals.splice(index, 1)[0]?.status
}

function transactionIdText(transaction: SignedTransaction): string {
  const { payerNumber, validStartNs } = transaction
  return formatTransactionId({ account: entityId(payerNumber), validStartNs })
}

/** How long a transaction id is remembered for duplicates and receipts, milliseconds of wall time. */
const REMEMBERED_MS = 180_000

/** What the network remembers about a transaction id. */
type RememberedTransaction = {
  seenAtMs: number
  /** Nodes that accepted it. */
  nodes: Set<number>
  /** Resolves once consensus has handled it; undefined while it is held, or lost. */
  handling: Promise<void> | undefined
  /** Consensus's first record of it; undefined while it is on its way. */
  record: TransactionRecord | undefined
}

/** Transaction ids of the last three minutes by `wall`. */
function createTransactionMemory(wall: Pick<Clock, 'unixMs'>) {
  const entries = new Map<string, RememberedTransaction>()

  function find(id: string): RememberedTransaction | undefined {
    // Entries are in order of time, oldest first.
    for (const [old, { seenAtMs }] of entries) {
      if (wall.unixMs() - seenAtMs <= REMEMBERED_MS) break
      entries.delete(old)
    }
    return entries.get(id)
  }

  return {
    find,
    clear: () => entries.clear(),
    /** Remembers that `node` received it. Returns true if the node already had it. */
    add(id: string, node: number): boolean {
      const seenAtMs = wall.unixMs()
      const fresh = { seenAtMs, nodes: new Set<number>(), handling: undefined, record: undefined }
      const entry = find(id) ?? fresh
      const isKnown = entry.nodes.has(node)
      entry.nodes.add(node)
      entries.set(id, entry)
      return isKnown
    },
    /** Undoes `add` for a transaction that the node refused. */
    remove(id: string, node: number): void {
      const entry = entries.get(id)
      entry?.nodes.delete(node)
      if (entry?.nodes.size === 0) entries.delete(id)
    },
  }
}
