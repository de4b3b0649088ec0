// When sessions are written, whichever engine keeps them. Changes are gathered and committed together: at the end of the event
// loop's iteration, or at once by `flush`. Where they cannot be kept whole, none are: no restart takes up sessions with a gap.
import { messageOf } from '@tallystick/journal-store'
import {
  type FrameRecipient,
  type RestoredSessions,
  type SessionChange,
  type SessionStore,
  SessionStoreUnavailable,
  type StoredFrame,
  type StoredSession,
} from '../domain/session-store.ts'
import { LOG_LEVELS } from '../wire/mcp.ts'

/** Changes that may wait while the disk refuses them, some 20 MB; beyond, what is kept cannot be made whole again. */
const QUEUE_MAX = 50_000
/** A recipient is its session's number and the sequence, each four bytes. */
const RECIPIENT_BYTES = 8

/** Where sessions are kept. */
export type SessionRows = {
  /** In one transaction: takes everything out first where it is told to, and applies changes in their order. */
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

/** The columns of a session, in the order of `mcp_sessions`. */
export function sessionValues(
  session: StoredSession,
  textCell: (text: string) => string | Uint8Array,
): readonly unknown[] {
  const { number, id, createdAtMs, lastSequence, carriedSequence } = session
  const named = [session.sub, session.scopes.join(' ')].map(textCell)
  const counted = [createdAtMs, lastSequence, carriedSequence]
  return [number, id, ...named, session.logLevel ?? null, ...counted]
}

type Columns = Readonly<Record<string, unknown>>

/** What the tables hold, each in order of number; bytes are text. */
export function restoredSessions(tables: {
  readonly sessions: readonly Columns[]
  readonly subscriptions: readonly Columns[]
  readonly frames: readonly Columns[]
  readonly published: readonly Columns[]
  readonly unheard: readonly Columns[]
}): RestoredSessions {
  const byNumber = new Map<number, string[]>()
  for (const { session, uri } of tables.subscriptions) {
    const uris = byNumber.get(Number(session)) ?? []
    uris.push(String(uri))
    byNumber.set(Number(session), uris)
  }
  return {
    sessions: tables.sessions.map((row) => ({
      ...sessionOf(row),
      subscriptions: byNumber.get(Number(row['number'])) ?? [],
    })),
    frames: tables.frames.map(frameOf),
    published: new Map(tables.published.map(({ uri, version }) => [String(uri), Number(version)])),
    unheard: tables.unheard.map((row) => ({
      uri: String(row['uri']),
      version: Number(row['version']),
      sinceMs: Number(row['since_ms']),
    })),
  }
}

const sessionOf = (row: Columns): StoredSession => ({
  number: Number(row['number']),
  id: String(row['id']),
  sub: String(row['sub']),
  scopes: String(row['scopes']).split(' ').filter(Boolean),
  logLevel: LOG_LEVELS.find((level) => level === row['log_level']),
  createdAtMs: Number(row['created_at_ms']),
  lastSequence: Number(row['last_sequence']),
  carriedSequence: Number(row['carried_sequence']),
})

const frameOf = ({ number, text, about, recipients }: Columns): StoredFrame => ({
  number: Number(number),
  text: String(text),
  about: String(about),
  recipients: unpackRecipients(recipients instanceof Uint8Array ? recipients : undefined),
})

/** The recipients of a frame as one column. */
export function packRecipients(recipients: readonly FrameRecipient[]): Uint8Array {
  const packed = Buffer.allocUnsafe(recipients.length * RECIPIENT_BYTES)
  recipients.forEach(({ session, sequence }, index) => {
    packed.writeUInt32LE(session, index * RECIPIENT_BYTES)
    packed.writeUInt32LE(sequence, index * RECIPIENT_BYTES + 4)
  })
  return packed
}

function unpackRecipients(packed: Uint8Array | undefined): readonly FrameRecipient[] {
  const bytes = Buffer.from(packed ?? [])
  const recipients: FrameRecipient[] = []
  for (let at = 0; at + RECIPIENT_BYTES <= bytes.length; at += RECIPIENT_BYTES)
    recipients.push({ session: bytes.readUInt32LE(at), sequence: bytes.readUInt32LE(at + 4) })
  return recipients
}
