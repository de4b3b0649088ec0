/** How long a client may take to say what it wants; past it the connection is answered 408 and closed. */
export type ConnectionLimits = {
  /** For the head of a request: one packet from an honest client, so that who sends a line now and then is cut early. */
  readonly headersMs: number
  /** For a whole request: what is not read by then is somebody holding a connection. */
  readonly requestMs: number
  /** How often connections are looked at, so that a limit may be overrun by this much. */
  readonly checkEveryMs: number
}

export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  headersMs: 10_000,
  requestMs: 30_000,
  checkEveryMs: 5_000,
}
