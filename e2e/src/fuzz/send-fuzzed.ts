import { Agent, request as httpRequest } from 'node:http'
import type { FuzzedRequest } from './fuzzed-request.ts'

export type FuzzedAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly contentType: string
  /** Empty for a stream, which is closed as soon as it begins. */
  readonly text: string
}

/** Connections at once to one service: enough for real concurrency, few enough for any machine. */
const SOCKETS_MAX = 16
/** No fuzzed request comes close to taking this long. */
const ANSWER_MS_MAX = 120_000

const CLOSED = { connection: 'close' }

/** Sends requests over kept-alive connections. */
export class FuzzedSender {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX })
  readonly #baseUrl: URL

  constructor(baseUrl: string) {
    this.#baseUrl = new URL(baseUrl)
  }

  /** Rejects if the connection broke without an answer. */
  async send(
    fuzzed: FuzzedRequest,
    credentials: Readonly<Record<string, string>>,
  ): Promise<FuzzedAnswer> {
    const { method, target, body } = fuzzed
    return await new Promise((resolve, reject) => {
      const request = httpRequest(
        {
          agent: this.#agent,
          host: this.#baseUrl.hostname,
          port: this.#baseUrl.port,
          method,
          path: target,
          headers: {
            ...credentials,
            ...fuzzed.headers,
            ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
          },
          timeout: ANSWER_MS_MAX,
        },
        (response) => {
          const contentType = response.headers['content-type'] ?? ''
          const answer = {
            status: response.statusCode ?? 0,
            headers: response.headers,
            contentType,
          }
          if (contentType.startsWith('text/event-stream')) {
            response.destroy()
            return resolve({ ...answer, text: '' })
          }
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () => resolve({ ...answer, text: Buffer.concat(chunks).toString() }))
          response.on('error', reject)
        },
      )
      request.on('timeout', () => request.destroy(new Error(`no answer in ${ANSWER_MS_MAX} ms`)))
      request.on('error', (error: NodeJS.ErrnoException) => {
        // If headers are too large for Node to find the method, even HEAD is refused with a body.
        const isRefusedHead = method === 'HEAD' && error.code === 'HPE_CLOSED_CONNECTION'
        if (isRefusedHead) resolve({ status: 431, headers: CLOSED, contentType: '', text: '' })
        else reject(error)
      })
      request.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
