import type { Hex } from 'viem'
import type { AssessedFee } from './custom-fees.ts'
import type { TokenTransfer } from './token.ts'
import type { Kind, TRANSACTION_KINDS } from './transaction-kinds.ts'

const NANOSECONDS_PER_SECOND = 1_000_000_000n

/** `seconds.nanoseconds` with nine digits, as the mirror node writes timestamps. */
export function formatTimestamp(nanoseconds: bigint): string {
  const fraction = nanoseconds % NANOSECONDS_PER_SECOND
  return `${nanoseconds / NANOSECONDS_PER_SECOND}.${fraction.toString().padStart(9, '0')}`
}

/** Nanoseconds of `seconds` or `seconds.nanoseconds` (one to nine digits), undefined for anything else. */
export function parseTimestamp(text: string): bigint | undefined {
  const match = /^(\d{1,10})(?:\.(\d{1,9}))?$/.exec(text)
  if (match?.[1] === undefined) return undefined
  return BigInt(match[1]) * NANOSECONDS_PER_SECOND + BigInt((match[2] ?? '').padEnd(9, '0'))
}

/** A second in Unix time as nanoseconds. */
export function secondsToNs(seconds: number | bigint): bigint {
  return BigInt(seconds) * NANOSECONDS_PER_SECOND
}

/** Whole seconds of a timestamp in nanoseconds. */
export function nsToSeconds(nanoseconds: bigint): number {
  return Number(nanoseconds / NANOSECONDS_PER_SECOND)
}

/** One line of a record's transfer list. */
export type Transfer = { account: string; amountTinybar: bigint; isApproval: boolean }

/** Sums moves by name. */
export function netMoves<Name>(moves: Iterable<readonly [Name, bigint]>): Map<Name, bigint> {
  const net = new Map<Name, bigint>()
  for (const [name, tinybar] of moves) net.set(name, (net.get(name) ?? 0n) + tinybar)
  return net
}

/**
 * The lines of a record's transfer list: accounts with what they gained or lost. A loss is by allowance, to the mirror node, if it
 * is all that its account was signed to lose by it.
 */
export function listTransfers(
  net: ReadonlyMap<string, bigint>,
  approved: readonly (readonly [account: string, tinybar: bigint])[] = [],
): Transfer[] {
  return [...net]
    .filter(([, amountTinybar]) => amountTinybar !== 0n)
    .map(([account, amountTinybar]) => ({
      account,
      amountTinybar,
      isApproval: approved.some(([owner, loss]) => owner === account && loss === amountTinybar),
    }))
}

/** A transaction's identity: who pays, `0.0.x`, and from when it is valid, nanoseconds since 1970. */
export type TransactionId = { account: string; validStartNs: bigint }

/** How a transaction came to consensus, as its record tells. */
export type Submission = Pick<
  TransactionRecord,
  'id' | 'name' | 'node' | 'memo' | 'hash' | 'maxFeeTinybar' | 'validDurationSeconds'
>

/** A transaction that reached consensus, whatever its result. */
export type TransactionRecord = {
  consensusNs: bigint
  name: (typeof TRANSACTION_KINDS)[Kind][0]
  id: TransactionId
  /** Whether the network made the call for a schedule. */
  isScheduled: boolean
  /** Name of the response code, e.g. `SUCCESS`. */
  result: string
  chargedFeeTinybar: bigint
  maxFeeTinybar: bigint
  memo: Uint8Array
  /** Node that submitted it, `0.0.x`; null if the network started it itself. */
  node: string | null
  /** SHA-384 of the signed transaction, or a substitute. */
  hash: Uint8Array
  validDurationSeconds: number | null
  entityId: string | null
  /** Undefined until requested: complete-transfers.ts reads it from the execution's trace. */
  transfers: readonly Transfer[] | undefined
  tokenTransfers?: readonly TokenTransfer[] | undefined
  /** The custom fees of tokens that were charged; what they moved is among the transfers. */
  customFees?: readonly AssessedFee[] | undefined
  /** The number of what it created, as its receipt names it. */
  created?:
    | {
        [Name in
          | 'accountID'
          | 'contractID'
          | 'fileID'
          | 'scheduleID'
          | 'tokenID'
          | 'topicID']?: number
      }
    | undefined
  /** The number of the schedule that it signed. */
  signedSchedule?: number | undefined
  /** What its receipt tells of a message to a topic. */
  topicMessage?: { sequence: number; runningHash: Uint8Array } | undefined
  /** EVM transactions only: the hash outside, and hash and number of the block inside. */
  evm?: { hash: Hex; innerHash: Hex; blockNumber: number }
}

/** `0.0.x-sss-nnnnnnnnn`, the mirror node's form of a transaction id. */
export function formatTransactionId(id: TransactionId): string {
  const nanoseconds = (id.validStartNs % 1_000_000_000n).toString().padStart(9, '0')
  return `${id.account}-${id.validStartNs / 1_000_000_000n}-${nanoseconds}`
}

/**
 * How many of the newest EVM transactions are remembered, with receipts and logs: two hours of ten calls a second would
 * otherwise take gigabytes. Native transfers are few, so all are kept.
 */
export const EVM_RECORDS_KEPT = 20_000

/** How many are forgotten at a time, so that the list is seldom copied. */
const EVM_RECORDS_FORGOTTEN = 1_000

/** The ledger's records in consensus order. `onForgotten` is called for each record that is forgotten. */
export function createRecordStore(onForgotten: (record: TransactionRecord) => void) {
  const state = {
    records: [] as TransactionRecord[],
    incomplete: [] as TransactionRecord[],
    evmCount: 0,
    byId: new Map<string, TransactionRecord[]>(),
  }

  function firstIndexAtOrAfter(nanoseconds: bigint): number {
    let low = 0
    let high = state.records.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((state.records[middle]?.consensusNs ?? 0n) < nanoseconds) low = middle + 1
      else high = middle
    }
    return low
  }

  function forgetOldest(): void {
    let left = EVM_RECORDS_FORGOTTEN
    state.records = state.records.filter((record) => {
      if (record.evm === undefined || left === 0) return true
      left -= 1
      state.byId.delete(formatTransactionId(record.id))
      onForgotten(record)
      return false
    })
    state.evmCount -= EVM_RECORDS_FORGOTTEN
  }

  return {
    state,
    /** Appends a record. Its consensus timestamp is later than all earlier ones. */
    add(record: TransactionRecord): void {
      state.records.push(record)
      const key = formatTransactionId(record.id)
      const twins = state.byId.get(key)
      if (twins === undefined) state.byId.set(key, [record])
      else twins.push(record)
      if (record.evm === undefined) return
      if (record.transfers === undefined) state.incomplete.push(record)
      state.evmCount += 1
      if (state.evmCount > EVM_RECORDS_KEPT + EVM_RECORDS_FORGOTTEN) forgetOldest()
    },
    /** The records that were added without transfers since the last call. */
    takeIncomplete(): readonly TransactionRecord[] {
      const taken = state.incomplete
      state.incomplete = []
      return taken
    },
    /** Records of a transaction id in its mirror form: several if duplicates reached consensus. */
    byTransactionId: (mirrorId: string): readonly TransactionRecord[] =>
      state.byId.get(mirrorId) ?? [],
    /** Records with `from <= consensusNs <= to`, ascending. */
    between: ({ from, to }: { from: bigint; to: bigint }): TransactionRecord[] =>
      state.records.slice(firstIndexAtOrAfter(from), firstIndexAtOrAfter(to + 1n)),
  }
}
