/**
 * What is known of the records that a session may speak: reads all of them, subscribes to each, reads anew what changed
 * and says what changed about it. Internal records are left alone: they must never be shown or spoken here.
 */
import { readRecord } from './read-record.js'
import { parseChainUri } from './record-uri.js'

/** @typedef {import('./mcp-session.js').McpSession} McpSession */
/** @typedef {import('./read-record.js').ShownRecord} ShownRecord */
/**
 * @typedef {{ kind: 'first', record: ShownRecord }
 *   | { kind: 'refreshed', record: ShownRecord }
 *   | { kind: 'new', record: ShownRecord }
 *   | { kind: 'confirmed', record: ShownRecord }
 *   | { kind: 'correction', record: ShownRecord, previous: ShownRecord }
 *   | { kind: 'broken', uri: string }
 *   | { kind: 'gone', uri: string }} RecordChange
 */

/** A page of cards, and as many subscriptions of one browser tab, beyond which nobody reads them at a glance. */
const RECORDS_MAX = 200
/** Requests at once: browsers hold six connections to a host under HTTP/1.1, and the event stream keeps one. */
const REQUESTS_AT_ONCE = 4

/**
 * Runs `work` on every item, a few at a time.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => Promise<void>} work
 */
async function forEachAtOnce(items, work) {
  const queue = items.values()
  const runners = Array.from({ length: REQUESTS_AT_ONCE }, async () => {
    for (const item of queue) await work(item)
  })
  await Promise.all(runners)
}

/**
 * The URIs of the speakable records that the session may list, whole or up to the limit.
 *
 * @param {McpSession} session
 */
async function listChains(session) {
  /** @type {string[]} */
  const uris = []
  /** @type {string | undefined} */
  let cursor
  do {
    const params = cursor === undefined ? {} : { cursor }
    const page = await session.request('resources/list', params)
    for (const { uri } of page.resources)
      if (parseChainUri(uri)?.audience === 'user' && !uris.includes(uri)) uris.push(uri)
    cursor = page.nextCursor
  } while (cursor !== undefined && uris.length <= RECORDS_MAX)
  return { uris: uris.slice(0, RECORDS_MAX), isCut: uris.length > RECORDS_MAX }
}

/**
 * @param {{ onChange: (change: RecordChange, session: McpSession) => void, onList: (list: { count: number, isCut: boolean }) => void }} handlers
 */
export function followRecords({ onChange, onList }) {
  /** @type {Map<string, ShownRecord>} */
  const known = new Map()
  /** @type {Map<string, Promise<void>>} */
  const reads = new Map()
  let hasReadAll = false

  /**
   * @param {ShownRecord} record
   * @returns {RecordChange}
   */
  function judge(record) {
    const previous = known.get(record.uri)
    if (previous === undefined) return { kind: hasReadAll ? 'new' : 'first', record }
    if (record.version <= previous.version) return { kind: 'refreshed', record }
    return record.value === previous.value
      ? { kind: 'confirmed', record }
      : { kind: 'correction', record, previous }
  }
  /**
   * @param {McpSession} session
   * @param {string} uri
   */
  async function readOnce(session, uri) {
    const outcome = await readRecord(session, uri)
    if (outcome.kind === 'found') {
      const { record } = outcome
      // An answer that was overtaken by a newer one says nothing new.
      if (record.version < (known.get(uri)?.version ?? 0)) return
      const change = judge(record)
      known.set(uri, record)
      onChange(change, session)
    } else {
      if (outcome.kind === 'absent') known.delete(uri)
      onChange({ kind: outcome.kind === 'absent' ? 'gone' : 'broken', uri }, session)
    }
  }
  /**
   * Reads of one record follow each other, so that a notice that comes during a read causes another one.
   *
   * @param {McpSession} session
   * @param {string} uri
   */
  function read(session, uri) {
    const before = reads.get(uri) ?? Promise.resolve()
    const mine = before.catch(() => undefined).then(() => readOnce(session, uri))
    reads.set(uri, mine)
    return mine
  }
  /** @param {McpSession} session */
  async function readAll(session) {
    const { uris, isCut } = await listChains(session)
    onList({ count: uris.length, isCut })
    const gone = [...known.keys()].filter((uri) => !uris.includes(uri))
    for (const uri of gone) {
      known.delete(uri)
      onChange({ kind: 'gone', uri }, session)
    }
    await forEachAtOnce(uris, async (uri) => {
      // Subscribed first: what is written after the read is then told.
      await session.request('resources/subscribe', { uri })
      await read(session, uri)
    })
    hasReadAll = true
  }
  return {
    readAll,
    /**
     * @param {import('./mcp-session.js').McpNotification} message
     * @param {McpSession} session
     */
    async take({ method, params }, session) {
      if (method === 'notifications/resources/list_changed') await readAll(session)
      if (method !== 'notifications/resources/updated') return
      if (parseChainUri(params.uri)?.audience === 'user') await read(session, params.uri)
    },
  }
}
