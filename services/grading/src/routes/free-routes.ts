/** The free routes: coverage, the truth table, the ledger, kept picks and the methods. Their answers are in wire/. */
import { type ServiceApp, sendError } from '@tallystick/service-kit'
import { z } from 'zod'
import { calibrationAnswer } from '../domain/calibration/calibration.ts'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import type { Grader } from '../domain/grading/grader.ts'
import { methodsAnswer } from '../domain/grading/methods.ts'
import { errorAnswer } from '../errors.ts'
import { calibrationAnswerSchema, calibrationRequestSchema } from '../wire/calibration.ts'
import { cardSchema } from '../wire/cards.ts'
import { issuesBody } from '../wire/errors.ts'
import { ledgerPageSchema, publicEntrySchema } from '../wire/ledger.ts'
import { methodsSchema } from '../wire/methods.ts'
import { freeErrorRows, notFoundRow, storeErrorRow } from './error-rows.ts'
import { freeBody, neverStored } from './read-body.ts'

export type FreeRouteDeps = {
  readonly grader: Grader
  readonly store: GradingStore
  /** Names the keys that sign receipts. */
  readonly didDocument: Readonly<Record<string, unknown>>
}

/** A key, a few words or three filters. */
const FREE_BODY_BYTES_MAX = 4_096

const seqText = 'the number of an entry, from 0'
const seqSchema = z
  .string()
  .regex(/^\d{1,15}$/, seqText)
  .describe(seqText)

function addLedgerRoutes(app: ServiceApp, { grader, store }: FreeRouteDeps): void {
  app.get(
    '/api/ledger',
    {
      schema: {
        tags: ['free'],
        summary: 'Twenty entries of the ledger, newest first; before= turns the pages.',
        querystring: z.object({ before: seqSchema.optional() }),
        response: { 200: ledgerPageSchema, 400: issuesBody, ...storeErrorRow },
      },
    },
    async (request, reply) => {
      const { before } = request.query
      const page = await grader.publicEntries(before === undefined ? undefined : Number(before))
      return reply.header('cache-control', 'no-store').send(page)
    },
  )
  app.get(
    '/api/ledger/checkpoint',
    {
      schema: {
        tags: ['free'],
        summary: 'The ledger’s signed checkpoint: a C2SP signed note, as text.',
        description: 'The header x-verifier-key holds the key that verifies it.',
        response: { 200: z.string(), ...storeErrorRow },
      },
      config: { answersAs: 'text/plain' },
    },
    async (_request, reply) => {
      const { note, verifierKey } = await store.checkpoint()
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
        params: z.object({ seq: seqSchema.meta({ examples: ['0'] }) }),
        response: { 200: publicEntrySchema, 400: issuesBody, ...notFoundRow, ...storeErrorRow },
      },
    },
    async (request, reply) => {
      const entry = await grader.publicEntry(Number(request.params.seq))
      return entry === undefined ? sendError(reply, errorAnswer('not_found')) : reply.send(entry)
    },
  )
}

export function addFreeRoutes(app: ServiceApp, deps: FreeRouteDeps): void {
  const { didDocument, grader, store } = deps
  const methods = methodsAnswer()
  app.get(
    '/.well-known/did.json',
    {
      schema: {
        tags: ['free'],
        summary: 'The keys that sign offers, receipts and answers, as a did:web document.',
        response: { 200: z.record(z.string(), z.unknown()) },
      },
    },
    async () => didDocument,
  )
  app.post(
    '/api/calibration',
    {
      bodyLimit: FREE_BODY_BYTES_MAX,
      config: { takesNoBody: true },
      schema: {
        tags: ['free'],
        summary: 'The truth table: what each band has returned, from settled outcomes. Free.',
        body: calibrationRequestSchema,
        response: { 200: calibrationAnswerSchema, ...freeErrorRows },
      },
      ...freeBody(calibrationRequestSchema, {}),
    },
    async (request) => calibrationAnswer(store, request.body.filters ?? {}),
  )
  addLedgerRoutes(app, deps)
  app.get(
    '/api/picks/:receipt',
    {
      onRequest: neverStored,
      // Anyone with the receipt can read the card.
      config: { hasSecretPath: true },
      schema: {
        tags: ['free'],
        summary: 'The current card of a paid pick, by its receipt. Free.',
        params: z.object({ receipt: z.string().describe('From the paid card.') }),
        response: { 200: cardSchema, ...notFoundRow, ...storeErrorRow },
      },
    },
    async (request, reply) => {
      const card = await grader.findCard(request.params.receipt)
      return card === undefined ? sendError(reply, errorAnswer('not_found')) : reply.send(card)
    },
  )
  app.get(
    '/api/methods',
    {
      schema: {
        tags: ['free'],
        summary: 'How a price is graded, with golden vectors computed by this process. Free.',
        response: { 200: methodsSchema },
      },
    },
    async () => methods,
  )
}
