// When sessions are written, on either engine. What clients ask is gathered and committed together, at the end of the event loop's
// iteration, and so are the notes that nobody waits for. On a file a commit survives the end of the process without waiting for
// the disk; after a loss of power some sessions may be outdated or gone, and their clients open new ones. A server's is as durable
// as a record, since a subscription that a failover forgot is a correction that nobody hears.

import { randomBytes } from 'node:crypto'
import { sharedRuns } from '@tallystick/journal-store'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import {
  type ChangeOutcome,
  EVENT_KEY_BYTES,
  type RestoredSessions,
  type SessionChange,
  type SessionNote,
  type SessionStore,
  type StoredUnheard,
} from '../domain/session-store.ts'
import { bringBackRows } from './bring-back-rows.ts'
import { createSolePeers, type SessionPeers } from './session-peers.ts'
import { createSessionStatements, findSessions } from './session-rows.ts'
import type { SideRows } from './side-rows.ts'

/**
 * Notes may wait while the disk refuses them, about 20 MB. Beyond that none is taken any more: corrections are judged again from
 * the last that was stored, and streams repeat a little.
 */
const NOTES_MAX = 50_000

/** A change, and whoever waits for it. */
type Asked = {
  readonly change: SessionChange
  readonly waiting: PromiseWithResolvers<ChangeOutcome>
}

type SessionStoreOptions = {
  /** Told when a commit that nobody waits for failed; its notes are tried again with the next. */
  readonly onProblem?: (error: unknown) => void
  /** Absent, this process is the only one. */
  readonly peers?: SessionPeers | undefined
}

export function openSessionStore(
  rows: SideRows,
  { onProblem = () => undefined, peers: known }: SessionStoreOptions = {},
): SessionStore {
  let asked: Asked[] = []
  let notes: SessionNote[] = []
  let [isClosed, isOverfull] = [false, false]
  /** How many changes of each session are not answered yet. */
  const underWay = new Map<number, number>()
  const peers = known ?? createSolePeers(() => underWay.keys())
  const statements = createSessionStatements(peers, rows.textCell)
  const askedDurability = rows.engine === 'postgres' ? 'synced' : 'relaxed'

  const flush = sharedRuns(async () => {
    if (asked.length + notes.length === 0) return
    const [changes, noted] = [asked, notes]
    ;[asked, notes] = [[], []]
    const sessions = changes.map(({ change }) => change.session)
    const touched = noted.flatMap((note) => ('session' in note ? [note.session] : []))
    const left = noted.flatMap((note) => (note.kind === 'left' ? [note.session] : []))
    const opens = changes.some(({ change }) => change.kind === 'opened')
    try {
      const outcomes = await rows.transaction(
        async (query) => {
          // Sent without waiting, in their order.
          const locks = peers.begin(query, [...new Set([...sessions, ...touched])], opens)
          const kept = noted.map((note) => statements.note(query, note))
          const made = changes.map(({ change }) => statements.change(query, change))
          const told = peers.tell(query, [...new Set([...sessions, ...left])])
          const [done] = await Promise.all([Promise.all(made), ...locks, ...kept, ...told])
          return done
        },
        changes.length > 0 ? askedDurability : 'relaxed',
      )
      for (const [at, { waiting }] of changes.entries())
        waiting.resolve(outcomes[at] ?? { kind: 'gone' })
    } catch (error) {
      for (const { waiting } of changes) waiting.reject(error)
      notes = [...noted, ...notes]
      throw error
    }
  })
  const leaveWay = (session: number): void => {
    const left = (underWay.get(session) ?? 1) - 1
    if (left === 0) underWay.delete(session)
    else underWay.set(session, left)
  }

  return {
    flush,
    freshMs: peers.freshMs,
    look: () => peers.look(),
    watch: (wake) => peers.watch(wake),
    async enter(sizes) {
      await rows.transaction(async (query) => {
        if (!(await peers.enter(query))) return
        await bringBackRows(query, sizes)
        await statements.begin(query)
      })
    },
    async commit(change) {
      if (isClosed) throw new RecordStoreUnavailable('the sessions are closed')
      const waiting = Promise.withResolvers<ChangeOutcome>()
      underWay.set(change.session, (underWay.get(change.session) ?? 0) + 1)
      asked.push({ change, waiting })
      // Whoever waits is told.
      flush().catch(() => undefined)
      return waiting.promise.finally(() => leaveWay(change.session))
    },
    save(more) {
      isOverfull ||= notes.length + more.length > NOTES_MAX
      if (isOverfull || isClosed) return
      notes.push(...more)
      flush().catch(onProblem)
    },
    sweep: (sweep) =>
      rows.transaction(async (query) => {
        await Promise.all(peers.begin(query, [...sweep.seen.keys()], false))
        const swept = await statements.sweep(query, sweep)
        await Promise.all(
          peers.tell(
            query,
            swept.map(({ number }) => number),
          ),
        )
        return swept
      }, 'relaxed'),
    find: (numbers) => findSessions(rows.read, numbers),
    async restore() {
      await flush()
      return restoredFrom(rows)
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await flush()
      await peers.leave()
    },
  }
}

const UNHEARD = 'SELECT uri, version, since_ms AS "sinceMs" FROM mcp_unheard'
/** The first process draws it. */
const KEEP_KEY = 'INSERT INTO mcp_event_key VALUES (1, $1) ON CONFLICT DO NOTHING'
const EVENT_KEY = 'SELECT key FROM mcp_event_key'

async function restoredFrom(rows: SideRows): Promise<RestoredSessions> {
  const { read } = rows
  await rows.transaction((query) => query(KEEP_KEY, [randomBytes(EVENT_KEY_BYTES)]))
  const [sessions, unheard, judged, keys] = await Promise.all([
    findSessions(read),
    read<StoredUnheard>(UNHEARD),
    read<{ readonly place: number }>('SELECT place FROM mcp_judged'),
    read<{ readonly key: Uint8Array }>(EVENT_KEY),
  ])
  const [eventKey] = keys
  if (eventKey === undefined) throw new Error('the key of event ids was not kept')
  return { sessions, unheard, judgedTo: judged[0]?.place, eventKey: eventKey.key }
}
