// A hand-written host: enough of MCP over fetch to subscribe and listen, so that tests see the wire.
import type { RunningCare } from './running-care.fixture.ts'

type HostMessage = {
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: unknown
  readonly error?: unknown
}

type TestHost = {
  /** The answer to a request. */
  request(method: string, params: Readonly<Record<string, unknown>>): Promise<HostMessage>
  /** Resolves with the next notification of that method on the stream from now on. */
  nextNotification(method: string): Promise<HostMessage>
  close(): Promise<void>
}

const PROTOCOL_VERSION = '2025-11-25'

/** Reads frames of an event stream until it ends. */
async function readFrames(
  stream: ReadableStream<Uint8Array>,
  onMessage: (message: HostMessage) => void,
): Promise<void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true })
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const data = /^data: (.+)$/m.exec(frame)?.[1]
      if (data !== undefined) onMessage(JSON.parse(data))
    }
  }
}

/** Opens a session with these scopes, and its event stream. */
export async function openHost(
  care: Pick<RunningCare, 'url' | 'token'>,
  scope: string,
): Promise<TestHost> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${care.token(scope)}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': PROTOCOL_VERSION,
  }
  let lastId = 0
  const send = async (message: object): Promise<Response> =>
    await fetch(`${care.url}/mcp`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const request = async (method: string, params: object): Promise<HostMessage> => {
    lastId += 1
    return (await (await send({ id: lastId, method, params })).json()) as HostMessage
  }
  const opened = await send({
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: 'test-host', version: '0' },
    },
  })
  headers['mcp-session-id'] = opened.headers.get('mcp-session-id') ?? ''
  await opened.text()
  await send({ method: 'notifications/initialized' })
  const waiting = new Map<string, (message: HostMessage) => void>()
  const stream = await fetch(`${care.url}/mcp`, {
    headers: { ...headers, accept: 'text/event-stream' },
  })
  if (stream.body === null) throw new Error('the event stream has no body')
  const reading = readFrames(stream.body, (message) => {
    waiting.get(message.method ?? '')?.(message)
    waiting.delete(message.method ?? '')
  }).catch(() => undefined)
  return {
    request,
    nextNotification: (method) => new Promise((resolve) => void waiting.set(method, resolve)),
    async close() {
      await fetch(`${care.url}/mcp`, { method: 'DELETE', headers })
      await reading
    },
  }
}
