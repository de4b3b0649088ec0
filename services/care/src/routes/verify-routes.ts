/** `GET /verify`: anyone can replay every chain that they may know of (C18). Its export and its checkpoints are for auditors. */
import { Readable } from 'node:stream'
import type { WitnessPush } from '@tallystick/journal-store'
import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { ReadRow } from '../domain/care-record.ts'
import type { RecordStore } from '../domain/record-store.ts'
import { isWithin, type Reach } from '../domain/scopes.ts'
import type { ChainVerifier } from '../domain/verification.ts'
import {
  atRestLine,
  chainJson,
  chainText,
  verifyJson,
  verifyText,
} from '../domain/verify-report.ts'
import { errorAnswer } from '../errors.ts'
import type { Audience } from '../wire/audience.ts'
import { chainUri, parseChainUri } from '../wire/record-uri.ts'
import { checkpointQuery, uriQuery, verifyAnswer } from '../wire/verify.ts'
import { BEARER, type BearerCheckDeps, findReader, MAYBE_BEARER, refusedTo } from './bearer.ts'

/** JSON if `Accept` is application/json, any type or absent, unless it contains text/html (care.md). */
export function isJsonAccepted(accept: string | undefined): boolean {
  const types = (accept ?? '').toLowerCase()
  if (types.includes('text/html')) return false
  return types.trim() === '' || types.includes('application/json') || types.includes('*/*')
}

/** Bytes of a report that are sent whole; a longer one is sent as it is written. */
const SENT_WHOLE_BYTES = 100_000

/**
 * Sends a report, page by page if it is long: a schema would walk every chain again. What comes first is read before the answer
 * begins, so that a store that cannot be read is 503.
 */
async function sendPages(
  reply: FastifyReply,
  pages: AsyncGenerator<string | Buffer>,
): Promise<FastifyReply> {
  const first: Buffer[] = []
  for (let bytes = 0; bytes < SENT_WHOLE_BYTES; bytes += first.at(-1)?.length ?? 0) {
    const page = await pages.next()
    if (page.done === true) return reply.send(Buffer.concat(first))
    first.push(Buffer.from(page.value))
  }
  const sent = async function* () {
    yield* first
    yield* pages
  }
  return reply.send(Readable.from(sent()))
}

const asText = (reply: FastifyReply): FastifyReply => reply.type('text/plain; charset=utf-8')
const asJson = (reply: FastifyReply): FastifyReply => reply.type('application/json; charset=utf-8')

const ERRORS = { 401: errorBody, 403: errorBody, 503: errorBody }

const unknownUri = (uri: string | string[] | undefined) =>
  errorAnswer('not_found', { details: { uri: [uri].flat()[0] } })

type VerifyDeps = BearerCheckDeps & {
  readonly verifier: Pick<ChainVerifier, 'verify'>
  /** The MCP endpoint's URL. */
  readonly resource: string
  readonly store: RecordStore
  readonly witnesses: Pick<WitnessPush, 'cosigned'>
  /** Whether names are shown only to tokens that have rights here (C33). */
  readonly isPrivate: boolean
  /** Called for each export: it holds records. */
  readonly noteRead: (row: ReadRow) => void
}

export function addVerifyRoutes(app: ServiceApp, deps: VerifyDeps): void {
  addVerifyRoute(app, deps)
  addExportRoute(app, deps)
  addCheckpointRoute(app, deps)
}

function addVerifyRoute(app: ServiceApp, deps: VerifyDeps): void {
  const schema = {
    tags: ['verify'],
    security: MAYBE_BEARER,
    summary: 'Replays every chain from its stored bytes.',
    description:
      'Public. Without a token it shows `care://` chains, and with the assistant scope internal ones as well. JSON, or plain text if `Accept` asks for another type. It holds no value, version hash, author or time of a record.',
    querystring: uriQuery,
    response: { 200: verifyAnswer, ...ERRORS, 404: errorBody },
  }
  app.get('/verify', { schema }, async (request, reply) => {
    const reader = await findReader({ request, reply }, deps)
    if (reader === undefined) return reply
    if (deps.isPrivate && !reader.hasRights) return sendError(reply, refusedTo(reader, deps))
    void reply.header('cache-control', 'no-store')
    const place = { resource: deps.resource, atRest: atRestLine(deps.store.sealKeyId) }
    const isJson = isJsonAccepted(request.headers.accept)
    const { uri } = request.query
    const target = typeof uri === 'string' ? parseChainUri(uri) : undefined
    const isForbidden = target !== undefined && !isWithin(target.slot, reader.visible)
    if (uri !== undefined && (target === undefined || isForbidden))
      return sendError(reply, unknownUri(uri))
    // Anybody may have a token of a trusted issuer: without a right here its holder waits with the visitors.
    const isAnonymous = !reader.hasRights
    const run = await deps.verifier.verify({
      reach: reader.visible,
      isAnonymous,
      slot: target?.slot,
    })
    switch (run.kind) {
      case 'busy':
        return sendError(reply, errorAnswer('busy'))
      case 'chain': {
        const { replayed } = run
        if (replayed === undefined || (target?.version ?? 1) > replayed.chain.versions)
          return sendError(reply, unknownUri(uri))
        return isJson
          ? asJson(reply).send(chainJson(replayed))
          : asText(reply).send(chainText(replayed, place))
      }
      case 'report':
        return isJson
          ? sendPages(asJson(reply), verifyJson(run.report, place))
          : sendPages(asText(reply), verifyText(run.report, place))
      default:
        return run satisfies never
    }
  })
}

const listAudiences = (reach: readonly Reach[]): readonly Audience[] => [
  ...new Set(reach.map(({ audience }) => audience)),
]

/** Stands in the trail of reads for every chain of an audience. */
const nameEverything = (audience: Audience): string =>
  audience === 'user' ? 'care://*' : 'care-internal://*'

async function* lines(texts: AsyncIterable<string>): AsyncIterable<string> {
  for await (const text of texts) yield `${text}\n`
}

/**
 * Serves `GET /verify/export`: what an auditor needs to replay chains without this service (C8). It holds records, so it
 * requires a token that may read them; `uri` narrows it to one chain.
 */
function addExportRoute(app: ServiceApp, deps: VerifyDeps): void {
  const schema = {
    tags: ['verify'],
    security: BEARER,
    summary: 'Journals and versions as NDJSON, for a replay without this service.',
    description:
      'Requires a token; holds what its scopes may read. /doc/verify explains the lines, with a shell script that replays a chain.',
    querystring: uriQuery,
    response: { 200: z.unknown().describe('NDJSON.'), ...ERRORS, 404: errorBody },
  }
  const config = { answersAs: 'application/x-ndjson' } as const
  app.get('/verify/export', { schema, config }, async (request, reply) => {
    const reader = await findReader({ request, reply }, deps)
    if (reader === undefined) return reply
    if (reader.readable.length === 0) return sendError(reply, refusedTo(reader, deps))
    const { uri } = request.query
    const slot = typeof uri === 'string' ? parseChainUri(uri)?.slot : undefined
    if (uri !== undefined) {
      const isReadable = slot !== undefined && isWithin(slot, reader.readable)
      if (!isReadable || (await deps.store.leaf(slot, undefined)) === undefined)
        return sendError(reply, unknownUri(uri))
    }
    const { readable: within, sub = '' } = reader
    const uris = slot === undefined ? listAudiences(within).map(nameEverything) : [chainUri(slot)]
    for (const chain of uris)
      deps.noteRead({ actor: sub, way: 'verify/export', outcome: 'served', uri: chain })
    const audiences = slot === undefined ? listAudiences(within) : [slot.audience]
    return reply
      .header('cache-control', 'no-store')
      .type('application/x-ndjson; charset=utf-8')
      .send(Readable.from(lines(deps.store.exportLines({ audiences, slot, within }))))
  })
}

/** The header that names the key which checks the note: its text is public and has no place inside the note. */
const VERIFIER_KEY_HEADER = 'x-checkpoint-key'

/** Serves `GET /verify/checkpoint`: the signed head of a journal (C9), text/plain. */
function addCheckpointRoute(app: ServiceApp, deps: VerifyDeps): void {
  const schema = {
    tags: ['verify'],
    security: MAYBE_BEARER,
    summary: 'The signed head of a journal, a C2SP note.',
    description: `Origin, size, root hash, signature. The key that checks it is in the header \`${VERIFIER_KEY_HEADER}\`; compare it with one that you obtained another way.`,
    querystring: checkpointQuery,
    response: { 200: z.string(), ...ERRORS, 404: errorBody },
  }
  const config = { answersAs: 'text/plain' } as const
  app.get('/verify/checkpoint', { schema, config }, async (request, reply) => {
    const reader = await findReader({ request, reply }, deps)
    if (reader === undefined) return reply
    const { cosigned, journal } = request.query
    if (!listAudiences(reader.visible).includes(journal))
      return sendError(reply, refusedTo(reader, deps))
    // No witness sees the journal of internal records.
    const isKept = cosigned === 'yes' && journal === 'user'
    const note = isKept ? deps.witnesses.cosigned() : deps.store.journals[journal].checkpoint()
    if (note === undefined || (cosigned === 'yes' && !isKept))
      return sendError(reply, errorAnswer('not_found'))
    return reply
      .header('cache-control', 'no-store')
      .header(VERIFIER_KEY_HEADER, deps.store.journals[journal].verifierKey)
      .type('text/plain; charset=utf-8')
      .send(note)
  })
}
