// Raw bytes on a TCP connection, for what no HTTP client would send.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** One final answer on a connection. */
export type RawAnswer = {
  readonly status: number
  /** Status line and headers, CRLF between them. */
  readonly head: string
  readonly body: string
}

type RawExchange = {
  readonly answers: readonly RawAnswer[]
  /** Whether the service closed the connection, rather than this side after its answers. */
  readonly isClosedByService: boolean
}

/** Every answer here comes well before this, on a busy machine too; a test that reaches it fails. */
const ANSWER_MS_MAX = 120_000

const HEAD_END = '\r\n\r\n'

/** The final answers at the start of `text`: complete ones only, without interim ones (1xx). */
function readAnswers(text: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = text; ; ) {
    const headEnd = rest.indexOf(HEAD_END)
    if (headEnd < 0) return answers
    const head = rest.slice(0, headEnd)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
    if (Number.isNaN(status)) throw new Error(`no answer: ${rest.slice(0, 80)}`)
    // Every answer in these tests has a length; a chunked one would fail them here.
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
    const bodyStart = headEnd + HEAD_END.length
    if (rest.length < bodyStart + length) return answers
    if (status >= 200)
      answers.push({ status, head, body: rest.slice(bodyStart, bodyStart + length) })
    rest = rest.slice(bodyStart + length)
  }
}

/** Opens a connection to a service. */
export async function openSocket(baseUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  // A service may reset a connection after its answer; only the answer counts.
  socket.on('error', () => undefined)
  return socket
}

/**
 * Sends bytes and resolves with the answers once there are `answers` of them or the service closes the connection; with
 * `hangUp` it resolves as soon as the bytes are sent. Rejects if none of this happens.
 */
export async function exchangeBytes(
  baseUrl: string,
  sent: { readonly bytes: string; readonly answers?: number; readonly hangUp?: true },
): Promise<RawExchange> {
  const socket = await openSocket(baseUrl)
  let text = ''
  return await new Promise((resolve, reject) => {
    let isEndedHere = false
    const timer = setTimeout(() => {
      reject(new Error(`no end after ${JSON.stringify(text.slice(0, 400))}`))
      socket.destroy()
    }, ANSWER_MS_MAX)
    const endHere = (): void => {
      isEndedHere = true
      socket.destroy()
    }
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      try {
        if (sent.answers !== undefined && readAnswers(text).length >= sent.answers) endHere()
      } catch (error) {
        reject(error)
        endHere()
      }
    })
    socket.on('close', () => {
      clearTimeout(timer)
      try {
        resolve({ answers: readAnswers(text), isClosedByService: !isEndedHere })
      } catch (error) {
        reject(error)
      }
    })
    socket.write(Buffer.from(sent.bytes, 'latin1'), () => {
      if (sent.hangUp === true) endHere()
    })
  })
}
