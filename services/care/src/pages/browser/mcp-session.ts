/**
 * One MCP session over Streamable HTTP, using only fetch: requests by POST, notifications from the GET stream.
 * keep-listening.ts decides when to open one, when to resume a stream and when to give up.
 */

import { fetchInTime, Unreachable } from '@tallystick/service-kit/browser'

/** Latest revision that this client was written for; the service never negotiates a lower one (C1). */
const PROTOCOL_VERSION = '2025-11-25'
/** The service sends a keep-alive at least every 15 s (C3): after two missed ones the stream is dead, whatever the socket says. */
const SILENCE_LIMIT_MS = 35_000

/** The service refused the token: only a different one helps. */
export class TokenRefused extends Error {}
/** The service no longer knows the session, or it belongs to somebody else: a new one is needed. */
export class SessionLost extends Error {}
/** The stream cannot be continued after the given event: everything must be read again. */
export class ResumeRefused extends Error {}
/** An answer with an error; `code` is JSON-RPC's, if it has one, `status` that of HTTP, if it is not 200. */
export class McpError extends Error {
  readonly code: number | undefined
  readonly status: number | undefined

  constructor({ code, message }: RpcError, status?: number) {
    super(message)
    this.code = code
    this.status = status
  }
}

export type McpNotification = {
  readonly method: string
  readonly params?: { readonly uri: string }
}

type RpcError = { readonly code?: number; readonly message?: string }
type RpcAnswer = { readonly result?: unknown; readonly error?: RpcError }

type StreamHandlers = {
  /** An event's data; never empty. */
  readonly onData: (data: string) => void
  /** The id of an event, even of one without data: where to resume. */
  readonly onId: (id: string) => void
}

/**
 * Reads a `text/event-stream` piece by piece, as the HTML standard says: lines may end in CR, LF or both, and an event
 * counts once its blank line has arrived. Returns the function that takes the next piece of text.
 */
export function eventStreamReader(handlers: StreamHandlers): (piece: string) => void {
  let rest = ''
  let data: string[] = []
  let id: string | undefined

  function endEvent(): void {
    const text = data.join('\n')
    const seen = id
    data = []
    id = undefined
    if (text !== '') handlers.onData(text)
    if (seen !== undefined) handlers.onId(seen)
  }
  function takeLine(line: string): void {
    if (line === '') return endEvent()
    const [field = '', value = ''] = line.split(/:(.*)/s)
    const text = value.startsWith(' ') ? value.slice(1) : value
    if (field === 'data') data.push(text)
    else if (field === 'id' && !text.includes('\0')) id = text
    return undefined
  }
  return (piece) => {
    // A CR at the end of a piece may be half of a CRLF, so it waits for what follows.
    const text = rest + piece
    const end = text.endsWith('\r') ? text.length - 1 : text.length
    const lines = text.slice(0, end).split(/\r\n|\n|\r/)
    rest = (lines.pop() ?? '') + text.slice(end)
    for (const line of lines) takeLine(line)
  }
}

async function refusal(answer: Response): Promise<Error> {
  const body: { error?: RpcError | string; error_description?: string } = await answer
    .json()
    .catch(() => ({}))
  const error = typeof body.error === 'object' ? body.error : {}
  if (answer.status === 401) return new TokenRefused(body.error_description ?? 'refused')
  if (answer.status === 403 || answer.status === 404) return new SessionLost(error.message ?? '')
  return new McpError(error, answer.status)
}

/** For {@link McpSession.listen}. */
type Listening = Omit<StreamHandlers, 'onData'> & {
  readonly lastEventId: string | undefined
  readonly signal: AbortSignal
  readonly onOpen: () => void
  readonly onMessage: (message: McpNotification) => void
  /** The service was heard: an event, or a comment that keeps the stream alive. */
  readonly onHeard: () => void
}

/** Headers of a session, and its URL. */
type Place = { readonly url: string; readonly headers: Record<string, string> }

/** The service answers in JSON, since this client takes it (C3). */
async function post({ url, headers }: Place, message: object): Promise<Response> {
  const answer = await fetchInTime(url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
  if (!answer.ok) throw await refusal(answer)
  return answer
}

/** A network that fails rejects with anything; here it has one name. */
const reached = <Part>(part: Promise<Part>): Promise<Part> =>
  part.catch((cause) => {
    throw new Unreachable('The stream broke.', { cause })
  })

async function listen({ url, headers }: Place, stream: Listening): Promise<void> {
  const { lastEventId, signal, onHeard, onOpen, onMessage, onId } = stream
  const over = new AbortController()
  const giveUp = (): void => over.abort()
  signal.addEventListener('abort', giveUp)
  let timer = setTimeout(giveUp, SILENCE_LIMIT_MS)
  try {
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const requestHeaders = { ...headers, ...resume, accept: 'text/event-stream' }
    const answer = await reached(
      fetch(url, { headers: requestHeaders, signal: over.signal, cache: 'no-store' }),
    )
    if (answer.status === 400 && lastEventId !== undefined) throw new ResumeRefused()
    if (!answer.ok || answer.body === null) throw await refusal(answer)
    onOpen()
    const read = eventStreamReader({ onData: (data) => onMessage(JSON.parse(data)), onId })
    const reader = answer.body.getReader()
    const decoder = new TextDecoder()
    const next = () => reached(reader.read())
    for (let piece = await next(); !piece.done; piece = await next()) {
      clearTimeout(timer)
      timer = setTimeout(giveUp, SILENCE_LIMIT_MS)
      onHeard()
      read(decoder.decode(piece.value, { stream: true }))
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', giveUp)
  }
}

export type McpSession = {
  /** Resolves to the result; rejects with {@link McpError} for an error answer. */
  request<Result>(method: string, params?: object): Promise<Result>
  /** Reads the GET stream until it ends or `signal` is aborted. */
  listen(stream: Listening): Promise<void>
  /** Ends the session, even while the page is closing. It may fail, which does not matter, since sessions expire. */
  end(): void
}

/** Opens a session: initialize, initialized. Rejects with {@link TokenRefused}, {@link McpError} or `Unreachable`. */
export async function openMcpSession(options: {
  readonly url: string
  readonly token: string
}): Promise<McpSession> {
  const { url, token } = options
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    'mcp-protocol-version': PROTOCOL_VERSION,
  }
  const place = { url, headers }
  let lastId = 0
  const initialize = await post(place, {
    id: lastId,
    method: 'initialize',
    params: {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: 'tallystick-care-pages', version: '1' },
    },
  })
  headers['mcp-session-id'] = initialize.headers.get('mcp-session-id') ?? ''
  await initialize.json()
  await post(place, { method: 'notifications/initialized' })
  return {
    async request<Result>(method: string, params: object = {}) {
      lastId += 1
      const answer = await post(place, { id: lastId, method, params })
      const { error, result }: RpcAnswer = await answer.json()
      if (error !== undefined) throw new McpError(error)
      return result as Result
    },
    listen: (stream) => listen(place, stream),
    end() {
      void fetch(url, { method: 'DELETE', headers, keepalive: true }).catch(() => undefined)
    },
  }
}
