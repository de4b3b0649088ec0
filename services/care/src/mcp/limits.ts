/** Every limit of the MCP side, each with its unit; configuration may set some of them. */
export const DEFAULT_MCP_LIMITS = {
  /** Largest POST body (care.md, Limits). */
  bodyBytesMax: 262_144,
  /** A session without a request or an open stream ends after this long. */
  idleMs: 30 * 60_000,
  /** A session ends after this long whatever it does, so that none outlives a rotation of secrets. */
  absoluteMs: 24 * 3_600_000,
  /** Open sessions of one `sub`: a host that opens one per conversation fits, a loop that leaks them does not. */
  sessionsPerSubMax: 64,
  /** Open sessions in all: about 20 KB each with a stream and 16 KB for a full ring, under 1 GB at worst. */
  sessionsMax: 20_000,
  /** URIs that one session subscribes to. */
  subscriptionsPerSessionMax: 1_000,
  /** Frames that a session may ask for again (care.md, Limits: replay buffer). */
  replayFramesMax: 2_048,
  /** Frames that may come while a reader takes nothing before its stream is cut: half the ring, so that it can resume. */
  lagFramesMax: 1_024,
  /** Bytes of such frames; they are shared, so this bounds what one stuck reader keeps from being forgotten. */
  lagBytesMax: 1_048_576,
  /** A stream whose reader takes nothing for this long is cut. */
  stallMs: 60_000,
  /** At most this long between two signs of life on a stream; 15 s is the rule (C3), clients give up at 300 s. */
  keepAliveMs: 10_000,
  /** Chains on one page of a list. */
  pageChains: 100,
}

export type McpLimits = Readonly<typeof DEFAULT_MCP_LIMITS>
