// How slow, late, limited and lossy the network is: the part of controls.ts that a profile sets at once.

import { entityId } from './ledger/entity-id.ts'
import { NODE_ACCOUNT_NUMBERS } from './ledger/network.ts'
import {
  type Edge,
  LIKE_TESTNET,
  type NetworkConditions,
  type NetworkFaults,
  PUBLIC_LIMITS,
  type RequestLimits,
  seededChance,
  setConditions,
} from './ledger/network-faults.ts'

/** The controls over a ledger's conditions. */
export function conditionControls(faults: NetworkFaults) {
  return {
    /**
     * Sets the public network's speed, lags, limits and losses at once, less what `changes` overrides; LIKE_TESTNET has the
     * figures. `devnet_*` calls stay prompt and unlimited.
     */
    likeTestnet(changes: Partial<NetworkConditions> = {}): void {
      setConditions(faults, { ...LIKE_TESTNET, ...changes })
    },
    /** Undoes everything that `likeTestnet` sets: the network always answers, and at once. */
    answerPromptly(): void {
      setConditions(faults)
    },
    /** Restarts chance: the same seed gives the same latencies and losses. */
    seedChance(seed: number): void {
      faults.chance = seededChance(seed)
    },
    /** `eth_sendRawTransaction` answers after a time between these; consensus comes after half of the shorter. */
    setSendLatencyMs(latency: { min: number; max: number }): void {
      if (latency.min > latency.max) throw new Error('min is above max')
      faults.sendLatencyMs = latency
    },
    /**
     * Answers as relays before 0.79: the price in block headers is in tinybar, so that fees derived from it are refused, and a
     * wrong nonce has a code of its own.
     */
    setOldRelay(isOld: boolean): void {
      faults.isOldRelay = isOld
    },
    /** Receipts, and transactions by hash, show up this many milliseconds after their block. */
    setReceiptDelayMs(ms: number): void {
      faults.receiptDelayMs = ms
    },
    /** What reaches consensus within this many milliseconds shares a block; with 0, each change gets its own at once. */
    setBlockMs(ms: number): void {
      faults.blockMs = ms
    },
    /** Native transfers reach consensus this many milliseconds after the node's checks. */
    setConsensusDelayMs(ms: number): void {
      faults.consensusDelayMs = ms
    },
    /** How much a caller may ask before it gets 429: the public relay's and mirror node's limits, your own, or none. */
    setRequestLimits(limits: RequestLimits | 'public' | 'none'): void {
      if (limits === 'public') faults.requestLimits = PUBLIC_LIMITS
      else faults.requestLimits = limits === 'none' ? {} : limits
    },
    /** Stops a consensus node (`0.0.3`, `0.0.4`) from taking transactions, or lets it take them again. */
    setNodeDown(nodeAccountId: string, isDown: boolean): void {
      const nodes = NODE_ACCOUNT_NUMBERS.map(entityId)
      if (!nodes.includes(nodeAccountId)) throw new Error(`there is no node ${nodeAccountId}`)
      const others = faults.downNodes.filter((node) => node !== nodeAccountId)
      faults.downNodes = isDown ? [...others, nodeAccountId] : others
    },
    /** The shares of requests, 0 to 1, that are carried out but never answered; unnamed edges keep theirs. */
    setAnswerLoss(shares: { rpc?: number; mirror?: number; consensus?: number }): void {
      faults.answerLoss = { ...faults.answerLoss, ...shares }
    },
    /**
     * The edge carries out the next requests but loses their answers; with `asked`, only requests whose methods, path or gRPC
     * method contain it.
     */
    loseNextAnswers(edge: Edge, count: number, method = ''): void {
      for (let lost = 0; lost < count; lost += 1) faults.answersToLose.push({ edge, call: method })
    },
    /** Puts `devnet.serverClock` this many milliseconds ahead of the ledger; below 0, behind it. */
    setServerClockOffMs(ms: number): void {
      faults.serverClockOffMs = ms
    },
    /** JSON-RPC reads, receipts included, lag by this many milliseconds. */
    setReadLagMs(ms: number): void {
      faults.readLagMs = ms
    },
    /** The mirror node lags by this many milliseconds. */
    setMirrorLagMs(ms: number): void {
      faults.mirrorLagMs = ms
    },
    /** `eth_getTransactionCount` lags by this many milliseconds. */
    setNonceLagMs(ms: number): void {
      faults.nonceLagMs = ms
    },
  }
}
