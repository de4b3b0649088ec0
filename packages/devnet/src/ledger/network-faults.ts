// Latencies, lags, limits and losses, which tests and `devnet_*` calls set and the edges obey. The profile LIKE_TESTNET has
// the figures of the public network, each with its source.

import type { Status } from './signed-transaction.ts'

/** An edge of the ledger. */
export type Edge = 'rpc' | 'mirror' | 'consensus'

/** Calls per minute of one method by one caller, by the relay's tier of the method; `other` is for unlisted methods. */
export type RelayLimits = { tier1: number; tier2: number; tier3: number; other: number }

/** What an edge takes from one caller before it answers 429. */
export type RequestLimits = {
  relayPerMinute?: RelayLimits | undefined
  mirrorPerSecond?: number | undefined
}

/**
 * The published defaults of the public relay (hiero-json-rpc-relay, docs/rate-limiting.md: TIER_1_RATE_LIMIT 100, TIER_2 800,
 * TIER_3 1600, DEFAULT_RATE_LIMIT 200, LIMIT_DURATION 60000) and of the public mirror node (docs.hedera.com, mirror nodes:
 * 50 requests a second for an address).
 */
export const PUBLIC_LIMITS: RequestLimits = {
  relayPerMinute: { tier1: 100, tier2: 800, tier3: 1_600, other: 200 },
  mirrorPerSecond: 50,
}

/** What a profile sets. Times are milliseconds of ledger time. */
export type NetworkConditions = {
  /** How long `eth_sendRawTransaction` takes to answer: for each call, a random time between these. */
  sendLatencyMs: { min: number; max: number }
  /** JSON-RPC answers, receipts included, show the ledger as of this long ago. */
  readLagMs: number
  /** Receipts and transactions show up this much later than their block. */
  receiptDelayMs: number
  /** The mirror node's lag. */
  mirrorLagMs: number
  /** `eth_getTransactionCount` shows the nonce as of this long ago. */
  nonceLagMs: number
  /** How long a window is whose changes share a block; with 0, each change gets its own block at once. */
  blockMs: number
  /** How long a native transfer takes from the node's checks to consensus. */
  consensusDelayMs: number
  requestLimits: RequestLimits
  /** Consensus nodes that take nothing, `0.0.x`. */
  downNodes: readonly string[]
  /** Share of requests, 0 to 1, that are carried out but whose answers are lost. */
  answerLoss: Readonly<Record<Edge, number>>
}

/** An ideal network: it always answers, and at once. */
const PROMPT: NetworkConditions = {
  sendLatencyMs: { min: 0, max: 0 },
  readLagMs: 0,
  receiptDelayMs: 0,
  mirrorLagMs: 0,
  nonceLagMs: 0,
  blockMs: 0,
  consensusDelayMs: 0,
  requestLimits: {},
  downNodes: [],
  answerLoss: { rpc: 0, mirror: 0, consensus: 0 },
}

/**
 * How long a send takes where people send: longer than ethers remembers a sender's nonce (250 ms), since its second send in a row
 * would otherwise have the nonce of the first.
 */
export const SEND_LATENCY_MS = { min: 300, max: 300 }

/**
 * The public network as third parties measured it: the relay answers a send after 3 to 8 s (it waits for consensus and the
 * mirror node), its reads lag 3 to 10 s and nonces 5 to 10 s (hiero-json-rpc-relay, issue 3716), and consensus takes 2 to 3
 * s; a record file, which is a block, holds two seconds. The loss of one answer in a hundred is our own assumption.
 */
export const LIKE_TESTNET: NetworkConditions = {
  sendLatencyMs: { min: 3_000, max: 8_000 },
  readLagMs: 4_000,
  receiptDelayMs: 1_000,
  mirrorLagMs: 4_000,
  nonceLagMs: 6_000,
  blockMs: 2_000,
  consensusDelayMs: 2_000,
  requestLimits: PUBLIC_LIMITS,
  downNodes: ['0.0.4'],
  answerLoss: { rpc: 0.01, mirror: 0.01, consensus: 0.01 },
}

export type NetworkFaults = ReturnType<typeof noFaults>

/** No fault yet; chance begins with a fixed seed. */
export function noFaults() {
  return {
    ...PROMPT,
    /** This many of the next EVM transactions are answered with their hash and lost. */
    transactionsToDrop: 0,
    /** This many of the next native transfers pass the node's checks and are lost. */
    transfersToDrop: 0,
    /** Whether the JSON-RPC edge answers as relays before 0.79 did; rpc/imitated-relay.ts says how. */
    isOldRelay: false,
    /** While true, native transfers that pass the node's checks wait. */
    isConsensusHeld: false,
    /** Response codes for the next native transfers, in order, and where they apply. */
    refusals: [] as { status: Status; at: 'precheck' | 'consensus' }[],
    /** Edges that answer nothing: connections are cut, gRPC calls end as UNAVAILABLE. */
    unavailable: { rpc: false, mirror: false, consensus: false },
    /** Answers to lose next, one for each entry; `asked` is part of what the request must ask for. */
    answersToLose: [] as { edge: Edge; call: string }[],
    /** How far the clock of servers in this process is ahead of the ledger's, milliseconds. */
    serverClockOffMs: 0,
    /** The next of a seeded sequence of numbers from 0 to 1. */
    chance: seededChance(1),
  }
}

/** Sets conditions; those left out return to the ideal network's. */
export function setConditions(
  faults: NetworkFaults,
  conditions: Partial<NetworkConditions> = {},
): void {
  Object.assign(faults, PROMPT, conditions)
}

/** Whether the answer to a request is lost. `asked` is its JSON-RPC body, mirror path or gRPC method. */
export function isAnswerLost(faults: NetworkFaults, edge: Edge, call: string): boolean {
  const index = faults.answersToLose.findIndex(
    (next) => next.edge === edge && call.includes(next.call),
  )
  if (index >= 0) {
    faults.answersToLose.splice(index, 1)
    return true
  }
  const share = faults.answerLoss[edge]
  return share > 0 && faults.chance() < share
}

/** Numbers from 0 to 1 (mulberry32), the same for the same seed on every machine. */
export function seededChance(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
