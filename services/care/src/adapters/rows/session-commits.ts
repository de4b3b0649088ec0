// When sessions are written, on either engine. What clients ask is gathered and committed together, at the end of the event loop's
// iteration, and so are the notes that nobody waits for. On a file a commit survives the end of the process without waiting for
// the disk; after a loss of power some sessions may be outdated or gone, and their clients open new ones. A server's is as durable
// as a record, since a subscription that a failover forgot is a correction that nobody hears.

import { randomBytes } from 'node:crypto'
import { sharedRuns } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import {
  type CancelledRequest,
  type ChangeOutcome,
  EVENT_KEY_BYTES,
  type ListenRows,
  type RestoredSessions,
  type SessionChange,
  type SessionLook,
  type SessionNote,
  type SessionStore,
  type SessionSweep,
  type StoredSession,
  type SweptSession,
} from '../../domain/session-store.ts'
import { bringBackRows } from './bring-back-rows.ts'
import type { SessionPeers } from './session-peers.ts'
import { beginAlone, findSessions, keepNote, SessionChanges } from './session-rows.ts'
import type { SideRows } from './side-rows.ts'
import { readUnheard } from './unheard-rows.ts'

/**
 * Notes may wait while the disk refuses them, about 20 MB. Beyond that none is taken any more: corrections are judged again from
 * the last that was stored, and streams repeat a little.
 */
const NOTES_MAX = 50_000

/** A change, and whoever waits for it. */
type WaitingChange = {
  readonly change: SessionChange
  readonly answer: PromiseWithResolvers<ChangeOutcome>
}

type SessionStoreOptions = {
  /** Told when a commit that nobody waits for failed; its notes are tried again with the next. */
  readonly onProblem?: (error: unknown) => void
  /** Absent, this process is the only one. */
  readonly peers?: SessionPeers | undefined
  /** The time that all processes share. */
  readonly clock: Pick<Clock, 'unixMs'>
}

/** The only process: memory is as new as its own changes, of which `underWay` has those that are not answered yet. */
const createSolePeers = (underWay: () => Iterable<number>): SessionPeers => ({
  process: () => 'sole',
  listens: { add: async () => true, remove: () => undefined, countElsewhere: async () => 0 },
  enter: async () => true,
  begin: () => [],
  tell: () => [],
  look: async () => {
    // Read behind the commit that they wait for.
    const changed = [...underWay()].map((number) => ({ number, changes: Number.POSITIVE_INFINITY }))
    return { isKnown: true, changed, cancelled: [], hasOthers: false, hasListensElsewhere: false }
  },
  watch: () => () => undefined,
  isShared: false,
  takeBackBeyond: async () => false,
  seenLateMs: 0,
  placeSql: (known) => known,
  cancel: async () => undefined,
  leave: async () => undefined,
})

class SessionCommits implements SessionStore {
  readonly #rows: SideRows
  readonly #nowMs: () => number
  readonly #onProblem: (error: unknown) => void
  readonly #peers: SessionPeers
  readonly #changes: SessionChanges
  #waiting: WaitingChange[] = []
  #notes: SessionNote[] = []
  #isClosed = false
  #isOverfull = false
  /** How many changes of each session are not answered yet. */
  readonly #underWay = new Map<number, number>()
  readonly flush = sharedRuns(() => this.#write())

  constructor(rows: SideRows, { clock, onProblem = () => undefined, peers }: SessionStoreOptions) {
    this.#rows = rows
    this.#nowMs = () => clock.unixMs()
    this.#onProblem = onProblem
    this.#peers = peers ?? createSolePeers(() => this.#underWay.keys())
    this.#changes = new SessionChanges(this.#peers, { ...rows, nowMs: this.#nowMs })
  }

  get listens(): ListenRows {
    return this.#peers.listens
  }

  get isShared(): boolean {
    return this.#peers.isShared
  }

  look(): Promise<SessionLook> {
    return this.#peers.look()
  }

  watch(wake: () => void, isListening: () => boolean): () => void {
    return this.#peers.watch(wake, isListening)
  }

  cancel(cancelled: CancelledRequest): Promise<void> {
    return this.#peers.cancel(cancelled)
  }

  async enter(sizes: Parameters<SessionStore['enter']>[0]): Promise<void> {
    await this.#rows.transaction(async (query) => {
      if (!(await this.#peers.enter(query))) return
      await bringBackRows(query, sizes)
      await beginAlone(query, this.#nowMs())
    })
  }

  async commit(change: SessionChange): Promise<ChangeOutcome> {
    if (this.#isClosed) throw new RecordStoreUnavailable('the sessions are closed')
    const answer = Promise.withResolvers<ChangeOutcome>()
    const { session } = change
    this.#underWay.set(session, (this.#underWay.get(session) ?? 0) + 1)
    this.#waiting.push({ change, answer })
    // Whoever waits is told.
    this.flush().catch(() => undefined)
    try {
      return await answer.promise
    } finally {
      const left = (this.#underWay.get(session) ?? 1) - 1
      if (left === 0) this.#underWay.delete(session)
      else this.#underWay.set(session, left)
    }
  }

  save(notes: readonly SessionNote[]): void {
    this.#isOverfull ||= this.#notes.length + notes.length > NOTES_MAX
    if (this.#isOverfull || this.#isClosed) return
    this.#notes.push(...notes)
    this.flush().catch(this.#onProblem)
  }

  sweep(sweep: SessionSweep): Promise<readonly SweptSession[]> {
    // As of when it was last seen, however long the transaction waits.
    const nowMs = this.#nowMs()
    return this.#rows.transaction(async (query) => {
      await Promise.all(this.#peers.begin(query, [...sweep.seen.keys()], false))
      const swept = await this.#changes.sweep(query, sweep, nowMs)
      const numbers = swept.map(({ number }) => number)
      await Promise.all(this.#peers.tell(query, numbers))
      return swept
    }, 'relaxed')
  }

  find(numbers: readonly number[]): Promise<readonly StoredSession[]> {
    return findSessions(this.#rows.read, numbers)
  }

  async restore(): Promise<RestoredSessions> {
    await this.flush()
    return restoredFrom(this.#rows)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.flush()
    await this.#peers.leave()
  }

  async #write(): Promise<void> {
    const [waiting, notes] = [this.#waiting, this.#notes]
    if (waiting.length + notes.length === 0) return
    this.#waiting = []
    this.#notes = []
    try {
      const outcomes = await this.#writeTogether(
        waiting.map(({ change }) => change),
        notes,
      )
      for (const [at, { answer }] of waiting.entries())
        answer.resolve(outcomes[at] ?? { kind: 'gone' })
    } catch (error) {
      for (const { answer } of waiting) answer.reject(error)
      this.#notes = [...notes, ...this.#notes]
      throw error
    }
  }

  #writeTogether(
    changes: readonly SessionChange[],
    notes: readonly SessionNote[],
  ): Promise<readonly ChangeOutcome[]> {
    const { engine } = this.#rows
    const changed = changes.map(({ session }) => session)
    const noted = notes.flatMap((note) => ('session' in note ? [note.session] : []))
    const left = notes.flatMap((note) => (note.kind === 'left' ? [note.session] : []))
    const opens = changes.some(({ kind }) => kind === 'opened')
    const isSynced = changes.length > 0 && engine === 'postgres'
    return this.#rows.transaction(
      async (query) => {
        // Sent without waiting, in their order.
        const locks = this.#peers.begin(query, [...new Set([...changed, ...noted])], opens)
        const keeping = notes.map((note) => keepNote(query, note, this.#nowMs()))
        const applying = changes.map((change) => this.#changes.apply(query, change))
        const telling = this.#peers.tell(query, [...new Set([...changed, ...left])])
        const [outcomes] = await Promise.all([
          Promise.all(applying),
          ...locks,
          ...keeping,
          ...telling,
        ])
        return outcomes
      },
      isSynced ? 'synced' : 'relaxed',
    )
  }
}

export const openSessionStore = (rows: SideRows, options: SessionStoreOptions): SessionStore =>
  new SessionCommits(rows, options)

/** The first process draws it. */
const KEEP_KEY = 'INSERT INTO mcp_event_key VALUES (1, $1) ON CONFLICT DO NOTHING'
const EVENT_KEY = 'SELECT key FROM mcp_event_key'

async function restoredFrom(rows: SideRows): Promise<RestoredSessions> {
  const { read } = rows
  await rows.transaction((query) => query(KEEP_KEY, [randomBytes(EVENT_KEY_BYTES)]))
  const [sessions, unheard, judged, keys] = await Promise.all([
    findSessions(read),
    readUnheard(read),
    read<{ readonly place: number }>('SELECT place FROM mcp_judged'),
    read<{ readonly key: Uint8Array }>(EVENT_KEY),
  ])
  const [eventKey] = keys
  if (eventKey === undefined) throw new Error('the key of event ids was not kept')
  return { sessions, unheard, judgedTo: judged[0]?.place, eventKey: eventKey.key }
}
