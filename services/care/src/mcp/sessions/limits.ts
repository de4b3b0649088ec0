/** Every limit of the MCP side, each with its unit. `config.ts` takes the defaults of those that can be configured from here. */
export const DEFAULT_MCP_LIMITS = {
  /** Largest POST body (care.md, Limits). */
  bodyBytesMax: 262_144,
  /** A session without a request or an open stream ends after this long. */
  idleMs: 30 * 60_000,
  /** A session ends after this long whatever it does, so that none outlives a rotation of secrets. */
  absoluteMs: 24 * 3_600_000,
  /** Open sessions per `sub`: enough for a host that opens one per conversation, too few for a loop that leaks them. */
  sessionsPerSubMax: 64,
  /** Open sessions in total: about 10 KB each with a stream, under 1 GB at worst. */
  sessionsMax: 20_000,
  /** URIs that one session may subscribe to. */
  subscriptionsPerSessionMax: 1_000,
  /** Frames that a session may request again (care.md, Limits: replay buffer). */
  replayFramesMax: 2_048,
  /** Frames that may arrive while a reader accepts nothing before its stream is cut: half the ring, so that it can resume. */
  lagFramesMax: 1_024,
  /** Bytes of such frames; frames are shared, so this bounds what one stuck reader keeps in memory. */
  lagBytesMax: 1_048_576,
  /** A stream whose reader accepts nothing for this long is cut. */
  stallMs: 60_000,
  /** At most this long between two signs of life on a stream; the rule says 15 s (C3), clients give up at 300 s. */
  keepAliveMs: 10_000,
  /** Open listens of MCP 2026-07-28 in total; each is a connection, and every write checks all that follow lists. */
  listensMax: 1_024,
  /** Open listens per `sub`: a host opens one or a few per conversation. */
  listensPerSubMax: 64,
  /** Chains per page of a list. */
  pageChains: 100,
  /** Versions that one answer about changes covers: about 100 KB of sentences; the next page continues after them. */
  pageVersions: 500,
  /** Chains of each audience that the index of words holds: about 300 MB; beyond them those of patients that a query names. */
  searchChainsMax: 200_000,
  /** Silence after which a correction that nobody has heard is an alert; 0 for none. */
  unheardMs: 3_600_000,
  /** A session that follows a record and has had no stream for longer than this is silent (C36). */
  silentMs: 60_000,
  /** How long after a correction a read says it as a separate text. */
  retractionMs: 7 * 86_400_000,
}

export type McpLimits = Readonly<typeof DEFAULT_MCP_LIMITS>
