/** `/` says this to a program: where the machine-readable descriptions are (RFC 8631), and the same as JSON for who asks for it. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ServiceApp } from './service-app.ts'

type FrontDoor = {
  readonly name: string
  readonly version: string
  readonly description: string
  /** Further descriptions by name, such as `{ x402: '/.well-known/x402' }`. */
  readonly links?: Readonly<Record<string, string>> | undefined
}

const LINK =
  '</openapi.json>; rel="service-desc"; type="application/json", </docs>; rel="service-doc"; type="text/html"'

const PAGE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** A browser names HTML; a program that names JSON and no HTML gets JSON. */
const asksForJson = (accept: string | undefined): boolean =>
  accept !== undefined && /\bapplication\/json\b/.test(accept) && !/\btext\/html\b/.test(accept)

/** Answers at `/` before the page does. */
export function addFrontDoor(app: ServiceApp, { links = {}, ...about }: FrontDoor): void {
  const body = { ...about, openapi: '/openapi.json', docs: '/docs', llms: '/llms.txt', ...links }
  const answerPrograms = async (request: FastifyRequest, reply: FastifyReply) => {
    // Before Fastify's own headers, a service may have set it on Node's answer.
    const vary = [reply.getHeader('vary') ?? reply.raw.getHeader('vary') ?? [], 'accept'].flat()
    void reply.headers({ link: LINK, vary: vary.join(', ') })
    return asksForJson(request.headers.accept) ? await reply.send(body) : undefined
  }
  app.addHook('onRoute', (route) => {
    if (route.url !== '/' || !PAGE_METHODS.has(String(route.method))) return
    route.onRequest = [answerPrograms, ...[route.onRequest ?? []].flat()]
  })
}
