import { Readable } from 'node:stream'
import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import { z } from 'zod'
import type { RecordStore } from '../domain/record-store.ts'
import { errorAnswer, invalidToken } from '../errors.ts'
import { parseRecordUri } from '../wire/record-uri.ts'
import { uriQuery } from '../wire/verify.ts'
import type { BearerCheckDeps } from './check-bearer.ts'
import { readerOf } from './reader.ts'

export type ExportRouteDeps = BearerCheckDeps & {
  readonly store: Pick<RecordStore, 'head' | 'exportLines'>
}

async function* lines(texts: AsyncIterable<string>): AsyncIterable<string> {
  for await (const text of texts) yield `${text}\n`
}

/**
 * Serves `GET /verify/export`: what an auditor needs to replay chains without this service (C8). It holds records, so it
 * asks for a token that may read them; `uri` narrows it to one chain.
 */
export function addExportRoute(app: ServiceApp, deps: ExportRouteDeps): void {
  const schema = {
    tags: ['verify'],
    summary: 'Journals and versions as NDJSON, for a replay without this service.',
    description:
      'Needs a token; holds what its scopes read. /doc/verify says what the lines are, with a shell script that replays a chain.',
    querystring: uriQuery,
    response: {
      200: z.unknown().describe('NDJSON.'),
      401: errorBody,
      403: errorBody,
      404: errorBody,
      503: errorBody,
    },
  }
  app.get('/verify/export', { schema }, async (request, reply) => {
    const reader = readerOf({ request, reply }, deps)
    if (reader === undefined) return reply
    if (reader.isAnonymous) return sendError(reply, invalidToken(undefined, deps))
    if (reader.readable.length === 0) return sendError(reply, errorAnswer('insufficient_scope'))
    const { uri } = request.query
    const slot = typeof uri === 'string' ? parseRecordUri(uri)?.slot : undefined
    if (uri !== undefined) {
      // The store is asked in either case: hidden and absent go the same way.
      const head = slot === undefined ? undefined : await deps.store.head(slot)
      if (head === undefined || !reader.readable.includes(head.audience))
        return sendError(reply, errorAnswer('not_found', { uri: [uri].flat()[0] }))
    }
    const exported = deps.store.exportLines({
      audiences: slot === undefined ? reader.readable : [slot.audience],
      ...(slot === undefined ? {} : { slot }),
    })
    return reply
      .header('cache-control', 'no-store')
      .type('application/x-ndjson; charset=utf-8')
      .send(Readable.from(lines(exported)))
  })
}
