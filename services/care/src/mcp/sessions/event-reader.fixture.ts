// A test client of an event stream that keeps every event as received.
import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http'

type StreamEvent = {
  readonly id: string | undefined
  /** The message; undefined for an event without data. */
  readonly message:
    | {
        readonly method?: string
        readonly params?: Record<string, unknown>
        readonly result?: Record<string, unknown>
      }
    | undefined
}

type StreamRequest = {
  readonly port: number
  readonly token: string
  readonly sessionId: string
  readonly lastEventId?: string | undefined
}

/** Reads the answer to a GET; refuses anything that is not a stream. */
export class EventReader {
  readonly events: StreamEvent[] = []
  readonly comments: string[] = []
  readonly retries: number[] = []
  readonly headers: IncomingMessage['headers']
  hasEnded = false
  readonly #request: ClientRequest
  #rest = ''

  constructor(clientRequest: ClientRequest, response: IncomingMessage) {
    this.#request = clientRequest
    this.headers = response.headers
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#read(text))
    response.on('error', () => undefined)
    response.on('close', () => {
      this.hasEnded = true
    })
  }

  static open({ port, token, sessionId, lastEventId }: StreamRequest): Promise<EventReader> {
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      'mcp-session-id': sessionId,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    }
    return EventReader.request({ port, method: 'GET', path: '/mcp', headers })
  }

  /** Sends a request that is answered with a stream. */
  static request(options: RequestOptions & { readonly body?: string }): Promise<EventReader> {
    return new Promise((resolve, reject) => {
      const clientRequest = request({ host: '127.0.0.1', agent: false, ...options }, (response) => {
        const type = response.headers['content-type']
        if (response.statusCode === 200 && type === 'text/event-stream')
          resolve(new EventReader(clientRequest, response))
        else {
          response.resume()
          reject(new Error(`the stream was refused with ${response.statusCode} ${type}`))
        }
      })
      clientRequest.on('error', reject)
      clientRequest.end(options.body)
    })
  }

  /** Id of the last event that had one. */
  get lastEventId(): string | undefined {
    return this.events.findLast(({ id }) => id !== undefined)?.id
  }

  /** Methods of the messages so far. */
  get methods(): (string | undefined)[] {
    return this.messages.map(({ method }) => method)
  }

  get messages(): NonNullable<StreamEvent['message']>[] {
    return this.events.flatMap(({ message }) => (message === undefined ? [] : [message]))
  }

  /** URIs of the `updated` notifications so far. */
  get updated(): unknown[] {
    return this.messages
      .filter(({ method }) => method === 'notifications/resources/updated')
      .map(({ params }) => params?.['uri'])
  }

  /** Breaks the connection. */
  drop(): void {
    this.#request.destroy()
  }

  #read(text: string): void {
    const blocks = (this.#rest + text).split('\n\n')
    this.#rest = blocks.pop() ?? ''
    for (const block of blocks) this.#readBlock(block.split('\n'))
  }

  #readBlock(lines: readonly string[]): void {
    const field = (name: string): string | undefined =>
      lines
        .find((line) => line.startsWith(`${name}:`))
        ?.slice(name.length + 1)
        .trim()
    const retry = field('retry')
    if (retry !== undefined) this.retries.push(Number(retry))
    for (const line of lines) if (line.startsWith(':')) this.comments.push(line.slice(1).trim())
    const data = field('data')
    if (data === undefined) return
    const message = data === '' ? undefined : (JSON.parse(data) as StreamEvent['message'])
    this.events.push({ id: field('id'), message })
  }
}
