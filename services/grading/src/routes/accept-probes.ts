import type { ServiceApp } from '@tallystick/service-kit'
import { errorCodes } from 'fastify'

/**
 * Takes an empty body of any content type as no body, so that whoever asks what a route costs is told so however he asks.
 * A body without a content type is read as JSON, the only thing that these routes take; one that says that it is something
 * else is 415: form fields, for one, hold no pick.
 */
export function acceptProbes(scope: ServiceApp): void {
  const parseJson = scope.getDefaultJsonParser('error', 'error')
  scope.removeContentTypeParser('text/plain')
  scope.addContentTypeParser<string>('*', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined)
    else if (request.headers['content-type'] === undefined) void parseJson(request, body, done)
    else done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE())
  })
}
