/** Facilitators in front of the real one: one as OKX documents its own, and one that holds its answers back. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import fastify, { type FastifyRequest } from 'fastify'

export const OKX_CREDENTIALS = {
  OKX_API_KEY: 'key-1',
  OKX_SECRET_KEY: 'a secret of OKX',
  OKX_PASSPHRASE: 'open sesame',
} as const

const ROOT = '/api/v6/pay/x402'
/** OKX refuses timestamps further off than this. */
const SKEW_MS_MAX = 30_000

type OkxStandIn = {
  readonly url: string
  /** Requests with a valid signature. */
  readonly seen: string[]
  /** The refused requests, each behind its code. */
  readonly refused: string[]
  stop(): Promise<void>
}

/** OKX's code for headers that do not sign exactly this request. */
function findRefusal(request: FastifyRequest): string | undefined {
  const header = (name: string): string => String(request.headers[name] ?? '')
  const timestamp = header('ok-access-timestamp')
  if (header('ok-access-key') !== OKX_CREDENTIALS.OKX_API_KEY) return '50111'
  if (header('ok-access-passphrase') !== OKX_CREDENTIALS.OKX_PASSPHRASE) return '50105'
  if (!(Math.abs(Date.parse(timestamp) - Date.now()) <= SKEW_MS_MAX)) return '50112'
  const body = typeof request.body === 'string' ? request.body : ''
  const expected = createHmac('sha256', OKX_CREDENTIALS.OKX_SECRET_KEY)
    .update(`${timestamp}${request.method}${request.url}${body}`)
    .digest()
  const input = Buffer.from(header('ok-access-sign'), 'base64')
  return input.length === expected.length && timingSafeEqual(input, expected) ? undefined : '50113'
}

/** Starts the stand-in on a free port. */
export async function startOkxStandIn(facilitatorUrl: string): Promise<OkxStandIn> {
  const app = fastify({ forceCloseConnections: true })
  const seen: string[] = []
  const refused: string[] = []
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    done(null, body)
  })
  app.all('/*', async (request, reply) => {
    const path = request.url.replace(ROOT, '')
    const requested = `${request.method} ${path}`
    const refusal = findRefusal(request)
    if (refusal !== undefined) {
      refused.push(`${refusal} ${requested}`)
      return reply.code(401).send({ code: refusal, msg: 'refused', data: null })
    }
    seen.push(requested)
    const answer = await fetch(`${facilitatorUrl}${path}`, {
      method: request.method,
      ...(typeof request.body === 'string'
        ? { body: request.body, headers: { 'content-type': 'application/json' } }
        : {}),
    })
    const data = (await answer.json()) as { readonly success?: boolean }
    const status = data.success === true ? { status: 'success' } : {}
    return reply.send({ code: '0', msg: '', data: { ...data, ...status } })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, seen, refused, stop: () => app.close() }
}

type SlowFacilitator = {
  readonly url: string
  /** Resolves when the next settlement is on chain and its answer is held back. */
  settled(): Promise<void>
  /** Releases all answers. */
  release(): void
  stop(): Promise<void>
}

/** Starts it on a free port, in front of a real one. */
export async function startSlowFacilitator(facilitatorUrl: string): Promise<SlowFacilitator> {
  const app = fastify({ forceCloseConnections: true })
  const gate = new EventTarget()
  const pending = Promise.withResolvers<void>()
  app.all('/*', async (request, reply) => {
    const answer = await fetch(`${facilitatorUrl}${request.url}`, {
      method: request.method,
      ...(request.body === undefined
        ? {}
        : {
            body: JSON.stringify(request.body),
            headers: { 'content-type': 'application/json' },
          }),
    })
    const text = await answer.text()
    if (request.url === '/settle') {
      gate.dispatchEvent(new Event('settled'))
      await pending.promise
    }
    return reply.code(answer.status).type('application/json').send(text)
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    async settled() {
      await once(gate, 'settled')
    },
    release: () => pending.resolve(),
    async stop() {
      pending.resolve()
      await app.close()
    },
  }
}
