/**
 * Keeps a session and its event stream open. It resumes after the last received event, with growing pauses; if the
 * session is gone, it opens a new one and has everything read again, so that nothing that happened meanwhile is missed.
 */
import { Unreachable } from '@tallystick/service-kit/browser'
import { type BackOffLimits, createBackOff } from '@tallystick/service-kit/retry'
import {
  McpError,
  type McpNotification,
  type McpSession,
  openMcpSession,
  ResumeRefused,
  SessionLost,
  TokenRefused,
} from './mcp-session.ts'

export type ListeningState =
  | { readonly kind: 'connecting' | 'live' | 'ended' }
  /** With the error that the service answered, if it answered. */
  | { readonly kind: 'waiting'; readonly error: McpError | undefined }
  /** The token was refused, or the page itself failed: it does not try again. */
  | { readonly kind: 'refused' | 'failed'; readonly why: string }

type ListeningOptions = {
  readonly url: string
  readonly token: string
  /** Called when events may have been missed, with the stream already open. */
  readonly readAll: (session: McpSession) => Promise<void>
  /** If it rejects, everything is read again over a new stream. */
  readonly onMessage: (message: McpNotification, session: McpSession) => Promise<void>
  /** `live`: the stream is open, and everything was read since it opened. */
  readonly onState: (state: ListeningState) => void
  /** The service was heard on the stream. */
  readonly onHeard: () => void
}

/**
 * A restart takes about a second, and once the network is back, a correction must not wait for minutes. What the service says
 * in `retry` is for hosts that try twice (C36); this page never stops trying.
 */
const RETRY: BackOffLimits = { firstMs: 500, maxMs: 15_000 }

export class Listener {
  readonly #options: ListeningOptions
  #hasEnded = false
  #stream: AbortController | undefined
  #session: McpSession | undefined
  #lastEventId: string | undefined
  #hasMissed = true
  #isReadingAll = false
  readonly #backOff = createBackOff({
    ...RETRY,
    clock: { unixMs: () => Date.now() },
    chance: () => Math.random(),
  })
  #endPause: (() => void) | undefined

  constructor(options: ListeningOptions) {
    this.#options = options
  }

  /** Runs until the listener ends or its token is refused. */
  async run(): Promise<void> {
    const { url, token, onState } = this.#options
    while (!this.#hasEnded) {
      onState({ kind: 'connecting' })
      let answered: McpError | undefined
      try {
        this.#session ??= await openMcpSession({ url, token })
        await this.#listenOnce(this.#session)
      } catch (error) {
        if (error instanceof TokenRefused) return onState({ kind: 'refused', why: error.message })
        if (error instanceof McpError) answered = error
        else if (!this.#hasEnded && !this.#learnFrom(error))
          return onState({ kind: 'failed', why: String(error) })
      }
      if (!this.#hasEnded) await this.#pause(answered)
    }
    return this.#session?.end()
  }

  /** Cuts a pause short. */
  wake(): void {
    this.#endPause?.()
  }

  /** Closes the stream and the session for good. */
  end(): void {
    this.#hasEnded = true
    this.#stream?.abort()
    this.#endPause?.()
    this.#session?.end()
    this.#session = undefined
  }

  async #listenOnce(session: McpSession): Promise<void> {
    const { onHeard, onMessage, onState } = this.#options
    const stream = new AbortController()
    this.#stream = stream
    let failure: unknown
    const missed = (error: unknown): void => {
      this.#hasMissed = true
      failure = error
      stream.abort()
    }
    const live = (): void => {
      if (!stream.signal.aborted) onState({ kind: 'live' })
    }
    try {
      await session.listen({
        lastEventId: this.#lastEventId,
        signal: stream.signal,
        onHeard,
        onOpen: () => {
          if (this.#hasMissed) this.#readAll(session).then(live).catch(missed)
          else live()
        },
        onMessage: (message) => {
          onMessage(message, session).catch(missed)
        },
        onId: (id) => {
          this.#lastEventId = id
          // A stream that opens while nothing can be read is not a success: pauses keep growing.
          if (!this.#isReadingAll) this.#backOff.succeeded()
        },
      })
    } catch (error) {
      throw failure ?? error
    } finally {
      stream.abort()
    }
  }

  async #readAll(session: McpSession): Promise<void> {
    this.#hasMissed = false
    this.#isReadingAll = true
    try {
      await this.#options.readAll(session)
      this.#backOff.succeeded()
    } finally {
      this.#isReadingAll = false
    }
  }

  /** Whether the error is one of the world; any other is a fault of the page, or of its browser. */
  #learnFrom(error: unknown): boolean {
    if (error instanceof SessionLost) this.#session = undefined
    if (!(error instanceof SessionLost || error instanceof ResumeRefused))
      return error instanceof Unreachable
    this.#lastEventId = undefined
    this.#hasMissed = true
    return true
  }

  async #pause(error: McpError | undefined): Promise<void> {
    this.#options.onState({ kind: 'waiting', error })
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#backOff.failed())
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#endPause = undefined
  }
}
