/**
 * One MCP session over Streamable HTTP, with nothing but fetch: requests by POST, notifications from the GET stream.
 * When to open one, to resume a stream and to give up is decided in keep-listening.js.
 */
import { eventStreamReader } from './event-stream.js'

/** Latest revision that this client was written for; the service never negotiates below it (C1). */
const PROTOCOL_VERSION = '2025-11-25'
/** A request answers in milliseconds; one that does not in this time will not. */
const ANSWER_LIMIT_MS = 10_000
/** The service sends a keep-alive at least every 15 s (C3): after two missed ones the stream is dead, whatever the socket says. */
const SILENCE_LIMIT_MS = 35_000

/** The service refused the token: nothing helps but another one. */
export class TokenRefused extends Error {}
/** The service does not know the session any more, or it belongs to somebody else: a new one is needed. */
export class SessionLost extends Error {}
/** The stream cannot be continued after the given event: what was missed is read anew. */
export class ResumeRefused extends Error {}
/** An answer with an error; `code` is JSON-RPC's where there is one. */
export class McpError extends Error {
  /**
   * @param {string} message
   * @param {number | undefined} code
   */
  constructor(message, code) {
    super(message)
    this.code = code
  }
}

const ignore = () => undefined

/** @typedef {{ method: string, params?: any }} McpNotification */
/** @typedef {{ code?: number, message?: string }} RpcError */

/**
 * @param {Response} answer
 * @returns {Promise<Error>}
 */
async function refusal(answer) {
  const body = await answer.json().catch(() => ({}))
  /** @type {RpcError} */
  const error = typeof body.error === 'object' ? body.error : {}
  if (answer.status === 401) return new TokenRefused(body.error_description ?? 'refused')
  if (answer.status === 403 || answer.status === 404) return new SessionLost(error.message ?? '')
  return new McpError(error.message ?? `The service answered ${answer.status}.`, error.code)
}

/**
 * The answer to a request: JSON, or the events of a stream that ends with it.
 *
 * @param {Response} answer
 */
async function readAnswer(answer) {
  if (!answer.headers.get('content-type')?.includes('text/event-stream')) return answer.json()
  /** @type {any[]} */
  const messages = []
  const onData = (/** @type {string} */ data) => messages.push(JSON.parse(data))
  eventStreamReader({ onData, onId: ignore, onRetry: ignore })(await answer.text())
  return messages.find((message) => 'result' in message || 'error' in message) ?? {}
}

/** @typedef {Awaited<ReturnType<typeof openMcpSession>>} McpSession */

/**
 * Opens a session: initialize, initialized. Throws {@link TokenRefused}, {@link McpError}, or what fetch throws.
 *
 * @param {{ url: string, token: string }} options
 */
export async function openMcpSession({ url, token }) {
  /** @type {Record<string, string>} */
  const headers = { authorization: `Bearer ${token}`, 'mcp-protocol-version': PROTOCOL_VERSION }
  let lastId = 0

  /** @param {object} message */
  async function post(message) {
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
    })
    if (!answer.ok) throw await refusal(answer)
    return answer
  }

  /**
   * Returns the result; throws {@link McpError} for an error answer.
   *
   * @param {string} method
   * @param {object} [params]
   */
  async function request(method, params = {}) {
    lastId += 1
    const answer = await readAnswer(await post({ id: lastId, method, params }))
    if (answer.error !== undefined) throw new McpError(answer.error.message, answer.error.code)
    return answer.result
  }

  const initialize = await post({
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: 'tallystick-care-pages', version: '1' },
    },
  })
  headers['mcp-session-id'] = initialize.headers.get('mcp-session-id') ?? ''
  await readAnswer(initialize)
  await post({ method: 'notifications/initialized' })

  return {
    request,
    /**
     * Reads the GET stream until it ends or `signal` is aborted.
     *
     * @param {{ lastEventId: string | undefined, signal: AbortSignal, onOpen: () => void,
     *   onMessage: (message: McpNotification) => void, onId: (id: string) => void,
     *   onRetry: (retryMs: number) => void }} stream
     */
    async listen({ lastEventId, signal, onOpen, onMessage, onId, onRetry }) {
      const silence = new AbortController()
      let timer = setTimeout(() => silence.abort(), SILENCE_LIMIT_MS)
      try {
        const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
        const answer = await fetch(url, {
          headers: { ...headers, ...resume, accept: 'text/event-stream' },
          signal: AbortSignal.any([signal, silence.signal]),
          cache: 'no-store',
        })
        if (answer.status === 400 && lastEventId !== undefined) throw new ResumeRefused()
        if (!answer.ok || answer.body === null) throw await refusal(answer)
        onOpen()
        const onData = (/** @type {string} */ data) => onMessage(JSON.parse(data))
        const read = eventStreamReader({ onData, onId, onRetry })
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
          clearTimeout(timer)
          timer = setTimeout(() => silence.abort(), SILENCE_LIMIT_MS)
          read(piece.value)
        }
      } finally {
        clearTimeout(timer)
      }
    },
    /** Ends the session, also while the page is being left; that it may fail is of no consequence: sessions expire. */
    end() {
      void fetch(url, { method: 'DELETE', headers, keepalive: true }).catch(() => undefined)
    },
  }
}
