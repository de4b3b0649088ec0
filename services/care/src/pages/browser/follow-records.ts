/**
 * The records that a session may speak: reads all of them, subscribes to each, reads changed ones again and reports what
 * changed. Internal records are left alone: they must never be shown or spoken here.
 */
import { retractionSentence } from '../../domain/retraction.ts'
import type { McpNotification, McpSession } from './mcp-session.ts'
import { readChain, readRecord, type ShownRecord } from './read-record.ts'

export type RecordChange =
  | { readonly kind: 'first'; readonly record: ShownRecord }
  | { readonly kind: 'refreshed'; readonly record: ShownRecord }
  | { readonly kind: 'new'; readonly record: ShownRecord }
  | { readonly kind: 'confirmed'; readonly record: ShownRecord }
  | { readonly kind: 'correction'; readonly record: ShownRecord; readonly previous: ShownRecord }
  /** It holds no longer, and nothing in its place (C40). */
  | { readonly kind: 'withdrawn'; readonly record: ShownRecord; readonly previous: ShownRecord }
  | { readonly kind: 'broken'; readonly uri: string }
  | { readonly kind: 'gone'; readonly uri: string }

/** A page of cards, and the subscriptions of one browser tab; nobody reads more than this at a glance. */
const RECORDS_MAX = 200
/** Concurrent requests: browsers hold six connections per host under HTTP/1.1, and the event stream keeps one. */
const REQUESTS_AT_ONCE = 4

/** Runs `work` on every item, a few at a time. */
async function forEachAtOnce<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items.values()
  const runners = Array.from({ length: REQUESTS_AT_ONCE }, async () => {
    for (const item of queue) await work(item)
  })
  await Promise.all(runners)
}

const mayBeSaid = (uri: string): boolean => readChain(uri)?.audience === 'user'

/** The URIs of the speakable records that the session may list, all of them or up to the limit. */
async function listChains(session: McpSession) {
  const uris = new Set<string>()
  let cursor: string | undefined
  do {
    const page: {
      readonly resources: readonly { readonly uri: string }[]
      readonly nextCursor?: string
    } = await session.request('resources/list', cursor === undefined ? {} : { cursor })
    for (const { uri } of page.resources) if (mayBeSaid(uri)) uris.add(uri)
    cursor = page.nextCursor
  } while (cursor !== undefined && uris.size <= RECORDS_MAX)
  return { uris: [...uris].slice(0, RECORDS_MAX), isCut: uris.size > RECORDS_MAX }
}

export function followRecords(handlers: {
  readonly onChange: (change: RecordChange, session: McpSession) => void
  readonly onList: (list: { readonly count: number; readonly isCut: boolean }) => void
}) {
  const { onChange, onList } = handlers
  const known = new Map<string, ShownRecord>()
  const reads = new Map<string, Promise<void>>()
  let hasReadAll = false

  function judge(record: ShownRecord): RecordChange {
    const previous = known.get(record.uri)
    if (previous === undefined) return { kind: hasReadAll ? 'new' : 'first', record }
    if (record.version <= previous.version) return { kind: 'refreshed', record }
    if (record.value === previous.value) return { kind: 'confirmed', record }
    // This takes back what the page has shown, not what came in between (C29).
    const retraction = retractionSentence({ ...record, previousValue: previous.value })
    const kind = record.status === undefined ? 'correction' : 'withdrawn'
    return { kind, record: { ...record, retraction }, previous }
  }
  async function readOnce(session: McpSession, uri: string): Promise<void> {
    const outcome = await readRecord(session, uri)
    if (outcome.kind === 'found') {
      const { record } = outcome
      // An answer overtaken by a newer one says nothing new.
      if (record.version < (known.get(uri)?.version ?? 0)) return
      // A record that was withdrawn before this page showed it is none.
      if (record.status !== undefined && !known.has(uri)) return
      const change = judge(record)
      if (record.status === undefined) known.set(uri, record)
      else known.delete(uri)
      onChange(change, session)
    } else {
      if (outcome.kind === 'absent') known.delete(uri)
      onChange({ kind: outcome.kind === 'absent' ? 'gone' : 'broken', uri }, session)
    }
  }
  /** Reads of one record follow each other, so that a notice arriving during a read causes another one. */
  function read(session: McpSession, uri: string): Promise<void> {
    const before = reads.get(uri) ?? Promise.resolve()
    const mine = before.catch(() => undefined).then(() => readOnce(session, uri))
    reads.set(uri, mine)
    return mine
  }
  async function readAll(session: McpSession): Promise<void> {
    const { uris, isCut } = await listChains(session)
    onList({ count: uris.length, isCut })
    // What is not listed any more was withdrawn, or is gone: a read says which.
    const unlisted = [...known.keys()].filter((uri) => !uris.includes(uri))
    await forEachAtOnce(unlisted, (uri) => read(session, uri))
    await forEachAtOnce(uris, async (uri) => {
      // Subscribes first, so that anything written after the read is announced.
      await session.request('resources/subscribe', { uri })
      await read(session, uri)
    })
    hasReadAll = true
  }
  return {
    readAll,
    async take({ method, params }: McpNotification, session: McpSession): Promise<void> {
      if (method === 'notifications/resources/list_changed') await readAll(session)
      if (method !== 'notifications/resources/updated') return
      const uri = params?.uri ?? ''
      if (mayBeSaid(uri)) await read(session, uri)
    },
  }
}
