/**
 * What stands stored now, as the clinician's preview shows it. Without a token that may read, the page cannot know, and
 * says so; that a public chain exists is known from /verify.
 */
import { McpError, openMcpSession, TokenRefused } from './mcp-session.js'
import { readRecord } from './read-record.js'
import { chainUri, parseChainUri } from './record-uri.js'

/** @typedef {import('./read-record.js').ShownRecord} ShownRecord */
/** @typedef {import('./record-uri.js').Slot} Slot */
/**
 * @typedef {{ kind: 'unknown' } | { kind: 'none' } | { kind: 'found', record: ShownRecord, slot: Slot }
 *   | { kind: 'broken' } | { kind: 'refused', why: string } | { kind: 'unreachable' }} Before
 */

/**
 * The slots of all public chains; none where the service does not answer.
 *
 * @returns {Promise<readonly Slot[]>}
 */
export async function readPublicSlots() {
  try {
    const answer = await fetch('/verify', { headers: { accept: 'application/json' } })
    const { chains } = await answer.json()
    return chains
      .map((/** @type {{ uri: string }} */ { uri }) => parseChainUri(uri))
      .filter(Boolean)
  } catch {
    return []
  }
}

/** Reads versions over one MCP session, opened when first needed. */
export function createRecordReader() {
  /** @type {{ token: string, session: ReturnType<typeof openMcpSession> } | undefined} */
  let open

  /** @param {string} token */
  function sessionFor(token) {
    if (open?.token !== token) {
      void open?.session.then((session) => session.end()).catch(() => undefined)
      open = { token, session: openMcpSession({ url: '/mcp', token }) }
    }
    return open.session
  }

  /**
   * Reads what is stored for a person and a topic, in whichever audience the token may read.
   *
   * @param {{ token: string, patient: string, domain: string }} options
   * @returns {Promise<Before>}
   */
  async function read({ token, patient, domain }) {
    if (token === '') return { kind: 'unknown' }
    try {
      const session = await sessionFor(token)
      for (const audience of /** @type {const} */ (['user', 'assistant'])) {
        const slot = { patient, domain, audience }
        const outcome = await readRecord(session, chainUri(slot))
        if (outcome.kind === 'broken') return { kind: 'broken' }
        if (outcome.kind === 'found') return { kind: 'found', record: outcome.record, slot }
      }
      return { kind: 'none' }
    } catch (error) {
      open = undefined
      if (error instanceof TokenRefused || error instanceof McpError)
        return { kind: 'refused', why: error.message }
      return { kind: 'unreachable' }
    }
  }
  return {
    read,
    end() {
      void open?.session.then((session) => session.end()).catch(() => undefined)
      open = undefined
    },
  }
}
