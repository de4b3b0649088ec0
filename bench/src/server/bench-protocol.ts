/** The measuring process's questions to a server process over IPC. */
export type ProbeQuestion = 'figures' | 'collect' | 'watch-loop' | 'watch-holds' | 'stop'

/** A server process's answers. */
export type ProbeAnswer =
  | {
      readonly kind: 'listening'
      readonly url: string
      /** Whatever else the server file tells the measuring process; JSON. */
      readonly details?: string
    }
  | ProbeFigures

export type ProbeFigures = {
  readonly kind: 'figures'
  /** User and system time of the process, microseconds since its start. */
  readonly cpuMicros: number
  readonly heapBytes: number
  readonly rssBytes: number
  /** The longest hold of the event loop since `watch-loop`, milliseconds; 0 if nobody watches. */
  readonly loopBlockMs: number
  /** The most CPU that one iteration of the event loop took since `watch-holds`, milliseconds; 0 if nobody watched. */
  readonly holdCpuMs: number
}

/** Base URL in the tokens' audience; both servers listen on loopback. */
export const BENCH_BASE_URL = 'http://localhost:3002'
export const BENCH_TOKEN_SECRET = 'token-secret-for-measuring-0123456789abcdef'
export const BENCH_WRITE_SECRET = 'write-secret-for-measuring-0123456789abcdef'
/** The seal key of sealed runs, as `SEAL_KEYS` takes it. */
export const BENCH_SEAL_KEYS = `bench:${Buffer.alloc(32, 9).toString('base64')}`
