import { serviceName } from './page-element.js'

/** @typedef {import('./mcp-session.js').McpSession} McpSession */
/**
 * @typedef {object} ShownRecord The newest version of a record, as a read gives it (C10).
 * @property {string} uri
 * @property {number} version
 * @property {string} value
 * @property {string} ageLine `[changed 2d ago by …]` or `[STALE — …]`.
 * @property {boolean} isStale
 * @property {string} writtenAt
 * @property {string | undefined} retraction The sentence that takes the version before it back.
 */

/** The record does not hold: its stored text and its hash differ. */
const BROKEN = -32_603
/** The record, or its spoken form, is not there for this token. */
const NOT_FOUND = -32_002

/**
 * Reads the newest version. Gives `broken` or `absent` in place of a record that may not be served.
 *
 * @param {McpSession} session
 * @param {string} uri
 * @returns {Promise<{ kind: 'found', record: ShownRecord } | { kind: 'broken' } | { kind: 'absent' }>}
 */
export async function readRecord(session, uri) {
  try {
    const { contents } = await session.request('resources/read', { uri })
    const { text, _meta: facts } = contents[0]
    const ageLine = String(text).slice(String(text).lastIndexOf('\n') + 1)
    const record = {
      uri,
      version: facts.version,
      value: facts.value,
      ageLine,
      isStale: facts.stale === true,
      writtenAt: facts.writtenAt,
      retraction: facts[`${serviceName()}/retraction`],
    }
    return { kind: 'found', record }
  } catch (error) {
    const { code } = /** @type {{ code?: number }} */ (error)
    if (code === BROKEN) return { kind: 'broken' }
    if (code === NOT_FOUND) return { kind: 'absent' }
    throw error
  }
}

/**
 * Reads the spoken form of a version; undefined where the service has none.
 *
 * @param {McpSession} session
 * @param {{ uri: string, version: number }} version
 */
export async function readSpeech(session, { uri, version }) {
  try {
    const { contents } = await session.request('resources/read', { uri: `${uri}/${version}/audio` })
    const bytes = Uint8Array.from(atob(contents[0].blob), (letter) => letter.charCodeAt(0))
    return new Blob([bytes], { type: contents[0].mimeType })
  } catch (error) {
    const { code } = /** @type {{ code?: number }} */ (error)
    if (code === NOT_FOUND || code === BROKEN) return undefined
    throw error
  }
}
