import type { ServiceApp } from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PAGE_POLICY, type PageFile, readPageFiles } from './page-files.ts'
import type { PagesOptions } from './page-options.ts'

/** Served by a hook: the kit has a page of its own at this path, which is shown nowhere else either. */
const HOME = '/'

function sendFile(request: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  void reply.headers({
    etag: file.etag,
    // Asked for again each time, and answered 304 while nothing has changed.
    'cache-control': 'no-cache',
    'content-security-policy': PAGE_POLICY,
    'referrer-policy': 'no-referrer',
  })
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  return reply.type(file.contentType).send(file.body)
}

/**
 * Serves `/calibration`, `/try`, `/method` and `/pages/…`, read from disk once. To be called where the service registers
 * its routes; the page at `/` comes by `pagesHomeHook`.
 */
export function registerPages(app: ServiceApp, options: PagesOptions): void {
  for (const file of readPageFiles(options))
    for (const url of file.paths.filter((path) => path !== HOME))
      app.get(url, { exposeHeadRoute: true, schema: { hide: true } }, (request, reply) =>
        sendFile(request, reply, file),
      )
}

/** An `onRequest` hook for the app that `createServiceApp` returned: answers GET and HEAD on `/` with our page. */
export function pagesHomeHook(options: PagesOptions) {
  const home = readPageFiles(options).find(({ paths }) => paths.includes(HOME))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> =>
    home !== undefined &&
    request.routeOptions.url === HOME &&
    (request.method === 'GET' || request.method === 'HEAD')
      ? sendFile(request, reply, home)
      : undefined
}
