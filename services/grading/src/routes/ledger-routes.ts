import { type ServiceApp, sendError } from '@tallystick/service-kit'
import { z } from 'zod'
import type { Grader } from '../domain/grader.ts'
import type { GradingStore } from '../domain/grading-store.ts'
import type { PublicEntry } from '../domain/public-entry.ts'
import { errorAnswer, invalidRequest } from '../errors.ts'
import { issuesBody, notFoundRow, storeErrorRow } from './schemas.ts'

export type LedgerRouteDeps = {
  readonly grader: Pick<Grader, 'publicEntry'>
  readonly store: Pick<GradingStore, 'checkpoint'>
}

const members = z.record(z.string(), z.unknown())

export const publicEntrySchema = z
  .object({
    seq: z.int(),
    hash: z.string().describe('RFC 9162 leaf hash, hex.'),
    entry: members.exactOptional().describe('The entry as it is hashed (RFC 8785).'),
    redacted: members
      .exactOptional()
      .describe('Everything but the prices, which may not be passed on.'),
    opened: members.exactOptional().describe('A committed pick, once its event has started.'),
    inclusion: z.object({
      size: z.int(),
      root: z.string(),
      proof: z.array(z.string()).readonly(),
    }),
  })
  .meta({ id: 'LedgerEntry' }) satisfies z.ZodType<PublicEntry>

const seqText = 'the number of an entry, from 0'

/** Serves the ledger: an entry with its inclusion proof, and the signed checkpoint. Free. */
export function addLedgerRoutes(app: ServiceApp, deps: LedgerRouteDeps): void {
  app.get(
    '/api/ledger/checkpoint',
    {
      schema: {
        tags: ['free'],
        summary: 'The ledger’s signed checkpoint: a C2SP signed note, as text.',
        description: 'The key that checks it is in the header x-verifier-key.',
        response: { 200: z.string(), ...storeErrorRow },
      },
    },
    async (_request, reply) => {
      const { note, verifierKey } = await deps.store.checkpoint()
      return reply
        .headers({ 'cache-control': 'no-store', 'x-verifier-key': verifierKey })
        .serializer(String)
        .type('text/plain; charset=utf-8')
        .send(note)
    },
  )
  app.get(
    '/api/ledger/:seq',
    {
      schema: {
        tags: ['free'],
        summary: 'One entry of the ledger with its inclusion proof.',
        params: z.object({
          seq: z
            .string()
            .describe(seqText)
            .meta({ examples: ['0'] }),
        }),
        response: { 200: publicEntrySchema, 400: issuesBody, ...notFoundRow, ...storeErrorRow },
      },
    },
    async (request, reply) => {
      const { seq } = request.params
      if (!/^\d{1,15}$/.test(seq))
        return sendError(reply, invalidRequest([{ field: 'path.seq', expected: seqText }]))
      const entry = await deps.grader.publicEntry(Number(seq))
      if (entry === undefined) return sendError(reply, errorAnswer('not_found'))
      return reply.send(entry)
    },
  )
}
