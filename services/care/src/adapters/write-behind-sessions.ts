// When sessions are written, whichever engine keeps them. Changes are gathered and committed together: at the end of the event
// loop's iteration, or at once by `flush`. Where they cannot be kept whole, none are: no restart takes up sessions with a gap.
import { messageOf } from '@tallystick/journal-store'
import {
  type RestoredSessions,
  type SessionChange,
  type SessionStore,
  SessionStoreUnavailable,
} from '../domain/session-store.ts'

/** Changes that may wait while the disk refuses them, about 20 MB; beyond that, the stored state cannot be completed. */
const QUEUE_MAX = 50_000

export type SessionRows = {
  /** In one transaction: removes everything first if `isCleared`, then applies changes in order. */
  apply(changes: readonly SessionChange[], isCleared: boolean): Promise<void>
  restore(): Promise<RestoredSessions>
  close(): Promise<void>
}

type SessionsOptions = {
  /** In messages. */
  readonly place: string
  /** Told when a commit that nobody waits for failed; its changes are tried again with the next. */
  readonly onProblem?: ((error: SessionStoreUnavailable) => void) | undefined
}

export class WriteBehindSessions implements SessionStore {
  readonly #rows: SessionRows
  readonly #options: SessionsOptions
  #queue: SessionChange[] = []
  #running: Promise<unknown> | undefined
  #isFlushDue = false
  #isClosed = false
  /** Changes were lost: nothing is kept any more. */
  #isGivenUp = false

  constructor(rows: SessionRows, options: SessionsOptions) {
    this.#rows = rows
    this.#options = options
  }

  async restore(): Promise<RestoredSessions> {
    await this.#commit()
    return this.#orUnavailable(() => this.#rows.restore())
  }

  save(changes: readonly SessionChange[]): void {
    if (this.#isGivenUp || this.#isClosed) return
    this.#queue.push(...changes)
    if (this.#queue.length > QUEUE_MAX) {
      this.#isGivenUp = true
      this.#queue = []
    }
    this.#commitSoon()
  }

  flush(): Promise<void> {
    return this.#commit()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    try {
      await this.#commit()
    } finally {
      this.#isClosed = true
      await this.#rows.close()
    }
  }

  #commitSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    setImmediate(() => {
      this.#isFlushDue = false
      if (this.#isClosed) return
      this.#commit().catch((error: unknown) => {
        if (!(error instanceof SessionStoreUnavailable)) throw error
        this.#options.onProblem?.(error)
      })
    })
  }

  async #commit(): Promise<void> {
    // Writes of one group, whose answers come one after the other, share a transaction.
    await Promise.resolve()
    while (this.#running !== undefined) await this.#running
    if (this.#isClosed || (this.#queue.length === 0 && !this.#isGivenUp)) return
    const changes = this.#queue
    this.#queue = []
    const applying = this.#orUnavailable(() => this.#rows.apply(changes, this.#isGivenUp))
    const running = applying.then(
      () => undefined,
      () => {
        this.#queue = [...changes, ...this.#queue]
      },
    )
    this.#running = running.finally(() => {
      this.#running = undefined
    })
    await this.#running
    await applying
  }

  async #orUnavailable<Outcome>(run: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await run()
    } catch (cause) {
      const reason = `${this.#options.place}: ${messageOf(cause)}`
      throw new SessionStoreUnavailable(reason, { cause })
    }
  }
}
