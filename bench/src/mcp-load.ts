// The loading side of MCP: many sessions over a few keep-alive connections, and event streams over bare sockets, so that
// a stream costs far less here than in the server.
import { createHmac } from 'node:crypto'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { mintToken } from '@tallystick/jwt-lite'
import { BENCH_BASE_URL, BENCH_TOKEN_SECRET, BENCH_WRITE_SECRET } from './server/bench-protocol.ts'

/** Requests under way at once. */
const WIDTH = 16
/** A token's life, seconds: longer than any run. */
const TOKEN_SECONDS = 86_400

const BENCH_URI = 'care://ann/tea'

const PROTOCOL_VERSION = '2025-11-25'
const INITIALIZE = {
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: 'bench', version: '0' },
  },
}
const READ = { id: 1, method: 'resources/read', params: { uri: BENCH_URI } }
const PING = { id: 3, method: 'ping' }
const SUBSCRIBE = { id: 2, method: 'resources/subscribe', params: { uri: BENCH_URI } }

/** MCP, or the baseline's route that answers the same messages without a transport. */
export type LoadPath = '/mcp' | '/bare'

/** A complete HTTP answer. */
type LoadAnswer = { readonly text: string; readonly sessionId: string | undefined }

/** Runs `work` for each item, a few at once. */
export async function forEachSession<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const rest = items.values()
  const callOnce = async (): Promise<void> => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: WIDTH }, callOnce))
}

/** Drives one server. */
export class McpLoad {
  readonly #url: URL
  readonly #agent: Agent
  readonly #sockets: Socket[] = []
  readonly #authorization = `Bearer ${mintToken({
    sub: 'host',
    scope: 'care.read.user',
    audience: `${BENCH_BASE_URL}/mcp`,
    typ: 'care+jwt',
    key: Buffer.from(BENCH_TOKEN_SECRET),
    nowSeconds: Date.now() / 1000,
    lifetimeSeconds: TOKEN_SECONDS,
    jti: 'bench',
  })}`
  /** Called with every chunk of every event stream. */
  onPiece: (text: string) => void = () => undefined

  /** `width` is how many requests may be under way at once. */
  constructor(url: string, width = WIDTH) {
    this.#url = new URL(url)
    this.#agent = new Agent({ keepAlive: true, maxSockets: width })
  }

  /** Opens this many sessions; returns their ids. The bare route opens no session: it only answers the same requests. */
  async openSessions(count: number, path: LoadPath = '/mcp'): Promise<readonly string[]> {
    const ids: string[] = []
    await forEachSession(Array.from({ length: count }), async () => {
      const { sessionId } = await this.#ask(INITIALIZE, undefined, path)
      if (sessionId === undefined) throw new Error('initialize opened no session')
      await this.#ask({ method: 'notifications/initialized' }, sessionId, path)
      ids.push(sessionId)
    })
    return ids
  }

  /** `resources/read` of the one record; resolves with the answer's text. */
  async read(sessionId: string, path: LoadPath = '/mcp'): Promise<string> {
    const { text } = await this.#ask(READ, sessionId, path)
    if (!text.includes('"contents"')) throw new Error(`not a read: ${text}`)
    return text
  }

  async ping(sessionId: string, path: LoadPath = '/mcp'): Promise<void> {
    await this.#ask(PING, sessionId, path)
  }

  async subscribe(sessionId: string): Promise<void> {
    await this.#ask(SUBSCRIBE, sessionId)
  }

  /** Any request of a session; its answer may be an error. */
  async call(sessionId: string, method: string, params: object): Promise<string> {
    return (await this.#ask({ id: 4, method, params }, sessionId)).text
  }

  /** A signed write of the one record. */
  async write(value: string): Promise<void> {
    const author = { authorId: 'dr-osei', authorLabel: 'Dr Osei' }
    await this.writeRecord({ patient: 'ann', domain: 'tea', value, ...author })
  }

  /** A signed write. */
  async writeRecord(record: Readonly<Record<string, string>>): Promise<void> {
    const body = JSON.stringify(record)
    const timestamp = new Date().toISOString()
    const signature = createHmac('sha256', BENCH_WRITE_SECRET)
      .update(`${timestamp}.${body}`)
      .digest('hex')
    await this.post('/write', body, {
      'x-care-signature': signature,
      'x-care-timestamp': timestamp,
    })
  }

  /** One POST. Rejects for any status but 2xx. */
  post(path: string, body: string, headers: Record<string, string> = {}): Promise<LoadAnswer> {
    const payload = Buffer.from(body)
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, this.#url), {
        method: 'POST',
        agent: this.#agent,
        headers: {
          'content-type': 'application/json',
          'content-length': payload.length,
          ...headers,
        },
      })
      sent.on('response', (response) => {
        const pieces: Buffer[] = []
        response.on('data', (piece: Buffer) => pieces.push(piece))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(pieces).toString()
          const id = response.headers['mcp-session-id']
          if ((response.statusCode ?? 500) >= 300)
            reject(new Error(`${path}: ${response.statusCode} ${text}`))
          else resolve({ text, sessionId: typeof id === 'string' ? id : undefined })
        })
      })
      sent.on('error', reject)
      sent.end(payload)
    })
  }

  /** One GET, whatever its status; resolves with how many bytes came. */
  get(path: string, as: 'visitor' | 'principal' = 'visitor'): Promise<number> {
    const headers = as === 'visitor' ? {} : { authorization: this.#authorization }
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, this.#url), { agent: this.#agent, headers })
      sent.on('response', (response) => {
        let bytes = 0
        response.on('data', (piece: Buffer) => {
          bytes += piece.length
        })
        response.on('error', reject)
        response.on('end', () => resolve(bytes))
      })
      sent.on('error', reject)
      sent.end()
    })
  }

  /** Opens a session's event stream on its own socket; resolves when the head arrives. */
  openStream(sessionId: string): Promise<void> {
    const socket = connect(Number(this.#url.port), this.#url.hostname)
    this.#sockets.push(socket)
    socket.setEncoding('latin1')
    socket.write(
      `GET /mcp HTTP/1.1\r\nhost: ${this.#url.host}\r\naccept: text/event-stream\r\nauthorization: ${this.#authorization}\r\nmcp-session-id: ${sessionId}\r\n\r\n`,
    )
    return new Promise((resolve, reject) => {
      socket.on('error', reject)
      socket.once('data', (head: string) => {
        if (!head.startsWith('HTTP/1.1 200')) return reject(new Error(head))
        socket.on('data', (text: string) => this.onPiece(text))
        return resolve()
      })
    })
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#agent.destroy()
  }

  #ask(message: object, sessionId?: string, path: LoadPath = '/mcp'): Promise<LoadAnswer> {
    return this.post(path, JSON.stringify({ jsonrpc: '2.0', ...message }), {
      accept: 'application/json, text/event-stream',
      authorization: this.#authorization,
      ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    })
  }
}
