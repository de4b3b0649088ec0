import fastify, { type FastifyInstance } from 'fastify'

/** A server on a free loopback port; its base URL, and how to stop it. */
export async function listen(
  app: FastifyInstance,
): Promise<{ readonly url: string; readonly port: number; readonly close: () => Promise<void> }> {
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    url,
    port: Number(new URL(url).port),
    async close() {
      app.server.closeAllConnections()
      await app.close()
    },
  }
}

type Answer = { status: number; body: string; headers?: Record<string, string> } | 'hang' | 'drop'

/** A server whose answers the test sets: status, body and misbehaviour. */
export type ScriptedServer = {
  readonly url: string
  readonly requests: { readonly method: string; readonly url: string; readonly body: unknown }[]
  answer: Answer | ((body: unknown, url: string) => Answer)
  close(): Promise<void>
}

export async function scriptedServer(): Promise<ScriptedServer> {
  const app = fastify({ forceCloseConnections: true })
  const requests: ScriptedServer['requests'] = []
  app.all('/*', async (request, reply) => {
    const { body, method, url } = request
    requests.push({ method, url, body })
    const answer = typeof server.answer === 'function' ? server.answer(body, url) : server.answer
    if (answer === 'hang') return await new Promise(() => undefined)
    if (answer === 'drop') {
      request.raw.socket.destroy()
      return reply.hijack()
    }
    return await reply
      .code(answer.status)
      .headers({ 'content-type': 'application/json', ...answer.headers })
      .serializer(String)
      .send(answer.body)
  })
  const listening = await listen(app)
  const server: ScriptedServer = {
    url: listening.url,
    requests,
    answer: { status: 200, body: '{}' },
    close: listening.close,
  }
  return server
}
