import type { ServiceApp } from '@tallystick/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PAGE_POLICY, type PageFile } from '../pages/page-files.ts'

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

/** Serves files that were read at start, each under its own paths and no other. */
export function addPageRoutes(app: ServiceApp, files: readonly PageFile[]): void {
  for (const file of files)
    for (const url of file.paths.filter((path) => path !== HOME))
      app.get(url, { exposeHeadRoute: true, schema: { hide: true } }, (request, reply) =>
        sendFile(request, reply, file),
      )
}

/** A hook that answers GET and HEAD on `/` with the file that names it among its paths. */
export function homeHook(files: readonly PageFile[]) {
  const home = files.find(({ paths }) => paths.includes(HOME))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> =>
    home !== undefined &&
    request.routeOptions.url === HOME &&
    (request.method === 'GET' || request.method === 'HEAD')
      ? sendFile(request, reply, home)
      : undefined
}
