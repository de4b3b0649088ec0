/** What the measuring process asks of a server process over IPC. */
export type ProbeQuestion = 'figures' | 'collect' | 'watch-loop' | 'stop'

/** What a server process says. */
export type ProbeAnswer =
  | {
      readonly kind: 'listening'
      readonly url: string
      /** What else the measuring process must know, as the server file tells it; JSON. */
      readonly details?: string
    }
  | ProbeFigures

export type ProbeFigures = {
  readonly kind: 'figures'
  /** User and system time of the process, microseconds since its start. */
  readonly cpuMicros: number
  readonly heapBytes: number
  readonly rssBytes: number
  /** Longest time that the event loop was held since `watch-loop`, milliseconds. */
  readonly loopBlockMs: number
}

/** Base URL that tokens are minted for; both servers listen on loopback. */
export const BENCH_BASE_URL = 'http://localhost:3002'
export const BENCH_TOKEN_SECRET = 'token-secret-for-measuring-0123456789abcdef'
export const BENCH_WRITE_SECRET = 'write-secret-for-measuring-0123456789abcdef'
/** The seal key of sealed runs, as `SEAL_KEYS` takes it. */
export const BENCH_SEAL_KEYS = `bench:${Buffer.alloc(32, 9).toString('base64')}`
