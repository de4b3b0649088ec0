import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ServiceApp } from '../service-app.ts'
import type { PageFile } from './page-file.ts'

/** Served by a hook: the kit has a page of its own at this path, which is shown nowhere else either. */
const HOME = '/'

/** The pages of a service, and what they may do. */
export type Pages = {
  readonly files: readonly PageFile[]
  /** Content-Security-Policy of every file. */
  readonly policy: string
}

function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, policy }: { readonly file: PageFile; readonly policy: string },
): FastifyReply {
  void reply.headers({
    etag: file.etag,
    // Asked for again each time, and answered 304 while nothing has changed.
    'cache-control': 'no-cache',
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
  })
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  return reply.type(file.contentType).send(file.body)
}

/** Serves pages, each file under its own paths and no other. The one at `/` comes by `homeHook`. */
export function addPageRoutes(app: ServiceApp, { files, policy }: Pages): void {
  for (const file of files)
    for (const url of file.paths.filter((path) => path !== HOME))
      app.get(url, { exposeHeadRoute: true, schema: { hide: true } }, (request, reply) =>
        sendFile(request, reply, { file, policy }),
      )
}

/** An `onRequest` hook for the app that `createServiceApp` returned: answers GET and HEAD on `/` with its file. */
export function homeHook({ files, policy }: Pages) {
  const file = files.find(({ paths }) => paths.includes(HOME))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> =>
    file !== undefined &&
    request.routeOptions.url === HOME &&
    (request.method === 'GET' || request.method === 'HEAD')
      ? sendFile(request, reply, { file, policy })
      : undefined
}
