import { type ServiceApp, sendPage } from '@tallystick/service-kit'
import type { FixedFile, ServedDocument } from '../documents/served-documents.ts'
import { documentLinks } from '../documents/served-documents.ts'

/** Serves `/doc/<name>` as pages and the fixed files as they are; all were read at start. */
export function addDocumentRoutes(
  app: ServiceApp,
  served: { readonly documents: readonly ServedDocument[]; readonly files: readonly FixedFile[] },
): void {
  const schema = { hide: true }
  for (const { name, page } of served.documents)
    app.get(`/doc/${name}`, { exposeHeadRoute: true, schema }, (_request, reply) =>
      sendPage(reply, { ...page, links: documentLinks }),
    )
  for (const { path, contentType, body } of served.files)
    app.get(path, { exposeHeadRoute: true, schema }, (_request, reply) =>
      reply.header('cache-control', 'no-cache').type(contentType).send(body),
    )
}
