/**
 * Keeps a session and its event stream open: resumes after the last event that came, with growing pauses; opens another
 * session where the old one is gone, and then has everything read anew, so that nothing that happened meanwhile is missed.
 */
import {
  McpError,
  openMcpSession,
  ResumeRefused,
  SessionLost,
  TokenRefused,
} from './mcp-session.js'

/** @typedef {import('./mcp-session.js').McpSession} McpSession */
/** @typedef {import('./mcp-session.js').McpNotification} McpNotification */
/**
 * @typedef {{ kind: 'connecting' } | { kind: 'live' }
 *   | { kind: 'waiting', retryMs: number, why: string | undefined }
 *   | { kind: 'refused', why: string } | { kind: 'ended' }} ListeningState
 */
/**
 * @typedef {object} ListeningOptions
 * @property {string} url
 * @property {string} token
 * @property {(session: McpSession) => Promise<void>} readAll Called when events may have been missed, with the stream already open.
 * @property {(message: McpNotification, session: McpSession) => Promise<void>} onMessage
 *   Where it rejects, everything is read anew over another stream.
 * @property {(state: ListeningState) => void} onState
 */

/** First pause where the service names none: a restart takes about a second. */
const RETRY_FIRST_MS = 500
/** Longest pause: a correction must not wait for minutes once the network is back. */
const RETRY_LONGEST_MS = 15_000
/** The least that the service may ask for: a pause of none would be a loop. */
const RETRY_LEAST_MS = 50

/**
 * The pause before an attempt, with chance in it so that a thousand pages do not come back in the same instant.
 *
 * @param {{ attempt: number, firstMs: number, chance: number }} options `attempt` from 0, `chance` in 0–1.
 */
export function pauseMs({ attempt, firstMs, chance }) {
  const longest = Math.min(RETRY_LONGEST_MS, firstMs * 2 ** Math.min(attempt, 10))
  return Math.round(longest * (0.5 + chance / 2))
}

/** Listens until `end`. */
export class Listener {
  #options
  #ending = new AbortController()
  /** @type {McpSession | undefined} */
  #session
  /** @type {string | undefined} */
  #lastEventId
  #hasMissed = true
  #isReadingAll = false
  #attempt = 0
  #firstMs = RETRY_FIRST_MS
  /** @type {(() => void) | undefined} */
  #endPause

  /** @param {ListeningOptions} options */
  constructor(options) {
    this.#options = options
  }

  /** Runs until the listener is ended or its token refused. */
  async run() {
    const { url, token, onState } = this.#options
    while (!this.#ending.signal.aborted) {
      onState({ kind: 'connecting' })
      /** @type {string | undefined} */
      let why
      try {
        this.#session ??= await openMcpSession({ url, token })
        await this.#listenOnce(this.#session)
      } catch (error) {
        if (error instanceof TokenRefused) {
          onState({ kind: 'refused', why: error.message })
          return
        }
        if (error instanceof McpError) why = error.message
        this.#learn(error)
      }
      if (!this.#ending.signal.aborted) await this.#pause(why)
    }
    this.#session?.end()
  }

  /** Cuts a pause short. */
  wake() {
    this.#endPause?.()
  }

  /** Closes the stream and the session for good. */
  end() {
    this.#ending.abort()
    this.#endPause?.()
    this.#session?.end()
    this.#session = undefined
  }

  /** @param {McpSession} session */
  async #listenOnce(session) {
    const stream = new AbortController()
    const missed = (/** @type {unknown} */ error) => {
      this.#hasMissed = true
      stream.abort(error)
    }
    try {
      await session.listen({
        lastEventId: this.#lastEventId,
        signal: AbortSignal.any([this.#ending.signal, stream.signal]),
        onOpen: () => {
          this.#options.onState({ kind: 'live' })
          if (this.#hasMissed) this.#readAll(session).catch(missed)
        },
        onMessage: (message) => {
          this.#options.onMessage(message, session).catch(missed)
        },
        onId: (id) => {
          this.#lastEventId = id
          // A stream that opens while nothing can be read is no success: pauses go on growing.
          if (!this.#isReadingAll) this.#attempt = 0
        },
        onRetry: (retryMs) => {
          this.#firstMs = Math.max(retryMs, RETRY_LEAST_MS)
        },
      })
    } finally {
      stream.abort()
    }
  }

  /** @param {McpSession} session */
  async #readAll(session) {
    this.#hasMissed = false
    this.#isReadingAll = true
    try {
      await this.#options.readAll(session)
      this.#attempt = 0
    } finally {
      this.#isReadingAll = false
    }
  }

  /** @param {unknown} error */
  #learn(error) {
    if (error instanceof SessionLost) this.#session = undefined
    if (!(error instanceof SessionLost || error instanceof ResumeRefused)) return
    this.#lastEventId = undefined
    this.#hasMissed = true
  }

  /** @param {string | undefined} why */
  async #pause(why) {
    const retryMs = pauseMs({
      attempt: this.#attempt,
      firstMs: this.#firstMs,
      chance: Math.random(),
    })
    this.#attempt += 1
    this.#options.onState({ kind: 'waiting', retryMs, why })
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, retryMs)
      this.#endPause = () => {
        clearTimeout(timer)
        resolve(undefined)
      }
    })
    this.#endPause = undefined
  }
}
