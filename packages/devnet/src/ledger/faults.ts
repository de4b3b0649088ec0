/** What is wrong with the network at present; tests and `devnet_*` calls write it, the edges read it. */
export type Faults = {
  /** JSON-RPC answers, receipts included, show the ledger as it was so long ago, milliseconds. */
  readLagMs: number
  /** The same for the mirror node. */
  mirrorLagMs: number
  /** `eth_getTransactionCount` shows the nonce of so long ago, milliseconds. */
  nonceLagMs: number
  /** So many of the next EVM transactions are answered with their hash and lost. */
  transactionsToDrop: number
  /** So many of the next native transfers pass the node's checks and are lost. */
  transfersToDrop: number
  /** Native transfers that pass the node's checks wait as long as this is true. */
  isConsensusHeld: boolean
  /** Response codes for the next native transfers, in order, and where they strike. */
  refusals: { status: string; at: 'precheck' | 'consensus' }[]
  /** Edges that answer nothing: connections are cut, gRPC calls end as UNAVAILABLE. */
  unavailable: { rpc: boolean; mirror: boolean; consensus: boolean }
}

/** A network in good health. */
export function noFaults(): Faults {
  return {
    readLagMs: 0,
    mirrorLagMs: 0,
    nonceLagMs: 0,
    transactionsToDrop: 0,
    transfersToDrop: 0,
    isConsensusHeld: false,
    refusals: [],
    unavailable: { rpc: false, mirror: false, consensus: false },
  }
}
