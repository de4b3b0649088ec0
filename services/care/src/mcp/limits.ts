/** Every limit of the MCP side, each with its unit; configuration may set some of them. */
export type McpLimits = {
  /** Largest POST body in bytes (care.md, Limits). */
  readonly bodyBytesMax: number
  /** A session without a request or an open stream ends after this long. */
  readonly idleMs: number
  /** A session ends after this long whatever it does, so that none outlives a rotation of secrets. */
  readonly absoluteMs: number
  /** Open sessions of one `sub`: a host that opens one per conversation fits, a loop that leaks them does not. */
  readonly sessionsPerSubMax: number
  /** Open sessions in all: about 20 KB each with a stream and 16 KB for a full ring, under 1 GB at worst. */
  readonly sessionsMax: number
  /** URIs that one session subscribes to. */
  readonly subscriptionsPerSessionMax: number
  /** Frames that a session may ask for again (care.md, Limits: replay buffer). */
  readonly replayFramesMax: number
  /** Frames that may come while a reader takes nothing before its stream is cut: half the ring, so that it can still resume. */
  readonly lagFramesMax: number
  /** Bytes of such frames; they are shared, so this bounds what one stuck reader keeps from being forgotten. */
  readonly lagBytesMax: number
  /** A stream whose reader takes nothing for this long is cut. */
  readonly stallMs: number
  /** At most this long between two signs of life on a stream; 15 s is the rule (C3), clients give up at 300 s. */
  readonly keepAliveMs: number
  /** Chains on one page of a list. */
  readonly pageChains: number
}

export const DEFAULT_MCP_LIMITS: McpLimits = {
  bodyBytesMax: 262_144,
  idleMs: 30 * 60_000,
  absoluteMs: 24 * 3_600_000,
  sessionsPerSubMax: 64,
  sessionsMax: 20_000,
  subscriptionsPerSessionMax: 1_000,
  replayFramesMax: 2_048,
  lagFramesMax: 1_024,
  lagBytesMax: 1_048_576,
  stallMs: 60_000,
  keepAliveMs: 10_000,
  pageChains: 100,
}
