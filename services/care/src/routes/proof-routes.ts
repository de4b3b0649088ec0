/**
 * `GET /verify/proof` and `/verify/witnesses` (C9): proofs that a journal only grew and that an entry is in it, and who else
 * confirmed it. The journal of speakable records is public, like its checkpoints. Only those who may read a record learn its
 * place: with dated checkpoints, the place reveals when it was written (C9).
 */
import type { WitnessPush } from '@tallystick/journal-store'
import { errorBody, type ServiceApp, sendError } from '@tallystick/service-kit'
import type { JournalLeaf, RecordStore } from '../domain/record-store.ts'
import { isWithin } from '../domain/scopes.ts'
import { errorAnswer } from '../errors.ts'
import type { Audience } from '../wire/audience.ts'
import { parseChainUri } from '../wire/record-uri.ts'
import { type ProofAnswer, proofAnswer, proofQuery, witnessesAnswer } from '../wire/verify.ts'
import { type BearerCheckDeps, findReader, MAYBE_BEARER, refusedTo } from './bearer.ts'

type ProofDeps = BearerCheckDeps & { readonly store: Pick<RecordStore, 'journals' | 'leaf'> }

const hex = (hash: Uint8Array): string => Buffer.from(hash).toString('hex')
const readOrigin = (verifierKey: string): string => verifierKey.slice(0, verifierKey.indexOf('+'))

type Asked = {
  readonly journal: Audience
  readonly size: number
  readonly oldSize?: number | undefined
  readonly leaf?: Partial<JournalLeaf> & Pick<JournalLeaf, 'index'>
}

/** The requested proof; the caller has checked the sizes against the journal. */
async function prove(
  { journals }: Pick<RecordStore, 'journals'>,
  { journal: audience, size, oldSize, leaf }: Asked,
): Promise<ProofAnswer> {
  const journal = journals[audience]
  const parts = {
    journal: audience,
    origin: readOrigin(journal.verifierKey),
    size,
    rootHash: hex(await journal.rootAt(size)),
  }
  if (leaf !== undefined) {
    const { hash: leafHash, index } = leaf
    const proof = (await journal.inclusionProof(index, size)).map(hex)
    return { kind: 'inclusion', ...parts, index, ...(leafHash && { leafHash }), proof }
  }
  const old = oldSize ?? 0
  const proof = (await journal.consistencyProof(old, size)).map(hex)
  const oldRootHash = hex(await journal.rootAt(old))
  return { kind: 'consistency', ...parts, oldSize: old, oldRootHash, proof }
}

export function addProofRoute(app: ServiceApp, deps: ProofDeps): void {
  const { store } = deps
  const schema = {
    tags: ['verify'],
    security: MAYBE_BEARER,
    summary: 'Proves that a journal only grew, or that an entry is in it (RFC 9162).',
    description:
      'Public for the journal of speakable records; that of internal ones needs their scope. With `oldSize` the proof of consistency, with `index` that of inclusion; with `uri` the latter for a version of a record, for a token that may read it.',
    querystring: proofQuery,
    response: {
      200: proofAnswer,
      400: errorBody,
      401: errorBody,
      403: errorBody,
      404: errorBody,
      503: errorBody,
    },
  }
  app.get('/verify/proof', { schema }, async (request, reply) => {
    const reader = await findReader({ request, reply }, deps)
    if (reader === undefined) return reply
    void reply.header('cache-control', 'no-store')
    const { index, oldSize, uri } = request.query
    const target = uri === undefined ? undefined : parseChainUri(uri)
    const journal = target?.slot.audience ?? request.query.journal
    // Decided from the URI and the scope alone, before any look-up (C30).
    if (uri !== undefined) {
      if (reader.isAnonymous) return sendError(reply, refusedTo(reader, deps))
      if (target === undefined || !isWithin(target.slot, reader.readable))
        return sendError(reply, errorAnswer('not_found', { details: { uri } }))
    } else if (!reader.visible.some(({ audience }) => audience === journal))
      return sendError(reply, refusedTo(reader, deps))
    const leaf =
      target === undefined
        ? index === undefined
          ? undefined
          : { index }
        : await store.leaf(target.slot, target.version)
    if (target !== undefined && leaf === undefined)
      return sendError(reply, errorAnswer('not_found', { details: { uri } }))
    const entries = store.journals[journal].size
    const { size = entries } = request.query
    const least = leaf === undefined ? (oldSize ?? 0) : leaf.index + 1
    if (size > entries || least > size)
      return sendError(reply, errorAnswer('beyond_journal', { details: { size: entries } }))
    return reply.send(await prove(store, { journal, size, oldSize, ...(leaf && { leaf }) }))
  })
}

/** It holds no record, and is served also of a store that was put back (C42). */
export function addWitnessesRoute(
  app: ServiceApp,
  {
    store,
    witnesses,
  }: {
    readonly store: Pick<RecordStore, 'journals'>
    readonly witnesses: Pick<WitnessPush, 'cosigned' | 'states'>
  },
): void {
  const schema = {
    tags: ['verify'],
    summary: 'Who has cosigned the journal of speakable records.',
    description:
      'Each configured witness (C2SP) with the newest checkpoint that it cosigned, and that checkpoint with all lines on it.',
    response: { 200: witnessesAnswer, 503: errorBody },
  }
  app.get('/verify/witnesses', { schema }, async (_request, reply) => {
    const { size, verifierKey } = store.journals.user
    const checkpoint = witnesses.cosigned()
    return reply.header('cache-control', 'no-store').send({
      origin: readOrigin(verifierKey),
      verifierKey,
      size,
      ...(checkpoint && { checkpoint }),
      witnesses: witnesses.states().map(({ cosigned, name, problem }) => ({
        name,
        ...(cosigned && {
          size: cosigned.size,
          cosignedAt: new Date(cosigned.atSeconds * 1_000).toISOString(),
        }),
        ...(problem && { problem }),
      })),
    })
  })
}
