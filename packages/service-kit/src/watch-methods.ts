import { METHODS } from 'node:http'
import { sendError } from './error-handler.ts'
import type { ServiceApp } from './service-app.ts'

/** CONNECT never reaches a router: Node emits it as a separate event. */
const ROUTABLE_METHODS = METHODS.filter((method) => method !== 'CONNECT')

/**
 * Watches the routes added from now on. The returned function, called after the last one, answers every other method on
 * their paths with 405 and `Allow` (S5). It answers in `onRequest`, since by the time the handler runs a malformed body
 * would already be a 400.
 */
export function watchMethods(
  app: ServiceApp,
  options: { readonly isOptionsAnswered: boolean },
): () => void {
  for (const method of ROUTABLE_METHODS)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true })
  const methodsByUrl = new Map<string, Set<string>>()
  app.addHook('onRoute', (route) => {
    if (route.url === '*') return
    const methods = methodsByUrl.get(route.url) ?? new Set<string>()
    for (const method of [route.method].flat()) methods.add(method)
    methodsByUrl.set(route.url, methods)
  })
  return () => {
    for (const [url, known] of methodsByUrl) {
      if (options.isOptionsAnswered) known.add('OPTIONS')
      const missing = ROUTABLE_METHODS.filter((method) => !known.has(method))
      const allow = [...known].toSorted().join(', ')
      app.route({
        url,
        method: missing,
        schema: { hide: true },
        onRequest: async (_request, reply) =>
          sendError(reply, { status: 405, error: 'method_not_allowed', headers: { allow } }),
        // Never reached: onRequest has already answered.
        handler: async () => undefined,
      })
    }
  }
}
