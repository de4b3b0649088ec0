import type { ServerResponse } from 'node:http'
import { errorJson } from './error-answer.ts'
import { sendError } from './send-error.ts'
import type { ServiceApp } from './service-app.ts'

/** Answers an expectation that nobody here meets (RFC 9110 §10.1.1), in the house's shape. */
function refuseExpectation(_request: unknown, response: ServerResponse): void {
  const body = errorJson({ status: 417, error: 'expectation_failed' })
  response.writeHead(417, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  })
  response.end(body)
}

/**
 * Refuses what Node would refuse without a body: HTTP/1.1 without `Host` (RFC 9112 §3.2), which `requireHostHeader: false`
 * lets come here, and an `Expect` other than 100-continue.
 */
export function guardConnections(app: ServiceApp): void {
  app.server.on('checkExpectation', refuseExpectation)
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      void sendError(reply, {
        status: 400,
        error: 'host_required',
        headers: { connection: 'close' },
      })
    else done()
  })
}
