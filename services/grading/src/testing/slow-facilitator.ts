/** A facilitator that settles, and keeps its answer back until it is told: for what happens between the two. */
import { once } from 'node:events'
import fastify from 'fastify'

export type SlowFacilitator = {
  readonly url: string
  /** Resolves when the next settlement is on the chain and its answer kept back. */
  settled(): Promise<void>
  /** Lets all answers go. */
  release(): void
  stop(): Promise<void>
}

/** Starts it on a free port, in front of a real one. */
export async function startSlowFacilitator(facilitatorUrl: string): Promise<SlowFacilitator> {
  const app = fastify({ forceCloseConnections: true })
  const gate = new EventTarget()
  const held = Promise.withResolvers<void>()
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
      await held.promise
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
    release: () => held.resolve(),
    async stop() {
      held.resolve()
      await app.close()
    },
  }
}
