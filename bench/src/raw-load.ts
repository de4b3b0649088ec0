// The loading side of plain HTTP: keep-alive lanes over bare sockets, each with one request under way, so that a request
// costs far less here than in the server. Reads only answers with a content-length.
import { connect, type Socket } from 'node:net'

/** A complete HTTP answer. */
type RawAnswer = {
  readonly status: number
  /** Lower-case names. */
  readonly head: string
  readonly body: Buffer
}

const HEAD_END = Buffer.from('\r\n\r\n')

/** Longest wait for one answer, milliseconds: a payment on a busy machine takes a few seconds. */
const ANSWER_LIMIT_MS = 60_000

/** The bytes of a GET. */
export function getRequest(
  url: URL,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join('')}\r\n`)
}

/** The bytes of a POST of JSON. */
export function postRequest(
  url: URL,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const all = {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join('')}\r\n`
  return Buffer.from(head + body)
}

/** One keep-alive connection that carries one request at a time. */
class RawLane {
  readonly #socket: Socket
  #pieces: Buffer[] = []
  #waiting: PromiseWithResolvers<RawAnswer> | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (piece: Buffer) => this.#take(piece))
    socket.on('error', (error) => this.#waiting?.reject(error))
    socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')))
    socket.setTimeout(ANSWER_LIMIT_MS, () => socket.destroy(new Error('no answer in time')))
  }

  static async open(url: URL): Promise<RawLane> {
    const socket = connect(Number(url.port), url.hostname)
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return new RawLane(socket)
  }

  ask(request: Buffer): Promise<RawAnswer> {
    this.#waiting = Promise.withResolvers<RawAnswer>()
    this.#socket.write(request)
    return this.#waiting.promise
  }

  close(): void {
    this.#waiting = undefined
    this.#socket.destroy()
  }

  #take(piece: Buffer): void {
    this.#pieces.push(piece)
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces)
    const headEnd = bytes.indexOf(HEAD_END)
    if (headEnd < 0) return
    const head = bytes.toString('latin1', 0, headEnd).toLowerCase()
    const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
    if (length === undefined) {
      this.#waiting?.reject(new Error(`an answer without content-length: ${head}`))
      return
    }
    const bodyAt = headEnd + HEAD_END.length
    if (bytes.length < bodyAt + Number(length)) return
    this.#pieces = []
    this.#waiting?.resolve({
      status: Number(head.slice(9, 12)),
      head,
      body: bytes.subarray(bodyAt),
    })
  }
}

type LaneRun = {
  readonly url: string
  readonly lanes: number
  /** Requests in all; lane `n` of `lanes` sends those whose index is `n` modulo `lanes`, in order. */
  readonly count: number
  readonly status: number
  readonly request: (index: number) => Buffer
  /** A lane sends its requests so far apart, at the earliest when the last is answered; 0 by default. Milliseconds. */
  readonly everyMs?: number
  /** An answer of this status is no answer yet: the request is sent again, and its time goes on. */
  readonly resentStatus?: number
}

/** Before a request is sent again, milliseconds. */
const RESEND_MS = 500

/** A run's duration: milliseconds per answer, and in total. */
export type LaneTimes = { readonly delaysMs: readonly number[]; readonly wallMs: number }

/** Sends the requests over the lanes; each lane sends its next request when its last is answered. Rejects for any other status. */
export async function runLanes(run: LaneRun): Promise<LaneTimes> {
  const url = new URL(run.url)
  const lanes = await Promise.all(Array.from({ length: run.lanes }, () => RawLane.open(url)))
  const delaysMs: number[] = []
  const { everyMs = 0 } = run
  const drive = async (lane: RawLane, first: number): Promise<void> => {
    // Lanes begin evenly spread over that time.
    const beganMs = performance.now() + (everyMs * first) / run.lanes
    for (let index = first; index < run.count; index += run.lanes) {
      const waitMs = beganMs + (everyMs * (index - first)) / run.lanes - performance.now()
      if (everyMs > 0 && waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
      const request = run.request(index)
      const sentMs = performance.now()
      let { status, body } = await lane.ask(request)
      while (status === run.resentStatus) {
        await new Promise((resolve) => setTimeout(resolve, RESEND_MS))
        ;({ status, body } = await lane.ask(request))
      }
      delaysMs.push(performance.now() - sentMs)
      if (status !== run.status) throw new Error(`status ${status}: ${body.toString()}`)
    }
  }
  const startMs = performance.now()
  try {
    await Promise.all(lanes.map(drive))
    return { delaysMs, wallMs: performance.now() - startMs }
  } finally {
    for (const lane of lanes) lane.close()
  }
}

/** Reads a long answer, keeps none of it, and returns its bytes. */
export async function drain(url: string): Promise<number> {
  const answer = await fetch(url)
  let bytes = 0
  for await (const piece of answer.body ?? []) bytes += piece.length
  return bytes
}
