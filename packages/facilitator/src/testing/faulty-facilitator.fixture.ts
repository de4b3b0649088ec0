/**
 * A facilitator process that can be told to lie about its next settlement, with the real facilitator inside. It tells its
 * parent when a payment has arrived, so that the parent can kill or stop it in the middle of settling.
 */
import { createServer, type IncomingMessage } from 'node:http'
import { type StartOptions, startFacilitator } from '../service.ts'

/** What it says about a payment; `honest` is what the real one says. */
export type Lie =
  | 'honest'
  | 'success without submitting'
  | 'refused, having submitted'
  | 'refused, and submits later'

export type ToChild = { readonly lie: Lie }
/** `late` follows once its late submission is through. */
export type ToParent =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'arrived' }
  | { readonly kind: 'late' }

/** Long enough for the parent to move on. */
const LATE_MS = 400

const tell = (message: ToParent): void => void process.send?.(message)

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

const json = (value: object) => ({ status: 200, text: JSON.stringify(value) })

/** Serves until it is killed. */
async function serve(options: StartOptions): Promise<void> {
  const real = await startFacilitator(options)
  let lie: Lie = 'honest'
  process.on('message', (message: ToChild) => {
    lie = message.lie
  })

  async function forward(path: string, body: Buffer) {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    const answer = await fetch(`${real.url}${path}`, body.length === 0 ? {} : init)
    return { status: answer.status, text: await answer.text() }
  }

  async function settle(body: Buffer) {
    tell({ kind: 'arrived' })
    const network = 'eip155:196'
    const refused = { success: false, transaction: '', network, errorReason: 'invalid_payload' }
    switch (lie) {
      case 'honest':
        return await forward('/settle', body)
      case 'success without submitting':
        return json({ success: true, transaction: `0x${'ee'.repeat(32)}`, network })
      case 'refused, having submitted':
        await forward('/settle', body)
        return json(refused)
      case 'refused, and submits later':
        setTimeout(
          () => void forward('/settle', body).finally(() => tell({ kind: 'late' })),
          LATE_MS,
        )
        return json({ ...refused, errorReason: 'insufficient_funds' })
      default:
        return lie satisfies never
    }
  }

  const server = createServer((request, response) => {
    void (async () => {
      const body = await readBody(request)
      const path = request.url ?? '/'
      const { status, text } = path === '/settle' ? await settle(body) : await forward(path, body)
      response.writeHead(status, { 'content-type': 'application/json' }).end(text)
    })()
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    tell({ kind: 'listening', url: `http://127.0.0.1:${port}` })
  })
}

// Its parent may be killed as well.
process.on('disconnect', () => process.exit(0))
await serve(JSON.parse(process.env['FACILITATOR_OPTIONS'] ?? '') as StartOptions)
