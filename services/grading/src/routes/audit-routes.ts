/**
 * A paid audit by its receipt: repeated free with what the ledger knows now. It is as much work as the paid one, so it is
 * limited by address and done once for each state of the ledger.
 */
import { BoundedMap, type Clock, type ServiceApp, sendError } from '@tallystick/service-kit'
import { z } from 'zod'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import type { Grader } from '../domain/grading/grader.ts'
import type { LongWork } from '../domain/grading/long-work.ts'
import { errorAnswer } from '../errors.ts'
import { auditAnswerSchema } from '../wire/audit.ts'
import { type CountProcesses, createAddressLimit } from './address-limit.ts'
import { notFoundRow, storeErrorRow, tooManyRow } from './error-rows.ts'
import { neverStored, sendJson } from './read-body.ts'

type AuditRouteDeps = {
  readonly grader: Pick<Grader, 'auditText'>
  readonly longWork: Pick<LongWork, 'repeatAudit'>
  readonly store: Pick<GradingStore, 'head'>
  readonly clock: Clock
  readonly countProcesses?: CountProcesses | undefined
}

/** Audit reads per address and minute: people open a few links. */
const READS_PER_MINUTE = 30
/** Audits kept as text, up to a megabyte each. */
const KEPT_MAX = 16

export function addAuditRoutes(
  app: ServiceApp,
  { clock, countProcesses, grader, longWork, store }: AuditRouteDeps,
): void {
  const findRefusal = createAddressLimit(clock, READS_PER_MINUTE, countProcesses)
  const recent = new BoundedMap<string, { readonly size: number; readonly text: string }>(KEPT_MAX)

  /** The answer's text; undefined for an unknown receipt. */
  async function readAudit(receipt: string): Promise<string | undefined> {
    const { size } = await store.head()
    const known = recent.get(receipt)
    if (known?.size === size) return known.text
    const requested = await grader.auditText(receipt)
    if (requested === undefined) return undefined
    const text = await longWork.repeatAudit({ text: requested, receipt })
    recent.set(receipt, { size, text })
    return text
  }

  app.get(
    '/api/audits/:receipt',
    {
      onRequest: neverStored,
      // Anyone with the receipt can read the audit.
      config: { hasSecretPath: true },
      schema: {
        tags: ['free'],
        summary: 'A paid audit again, by its receipt, with what the ledger knows now. Free.',
        params: z.object({ receipt: z.string().describe('From the paid audit.') }),
        response: {
          200: auditAnswerSchema,
          ...notFoundRow,
          ...storeErrorRow,
          ...tooManyRow,
        },
      },
    },
    async (request, reply) => {
      const refusal = findRefusal(request.ip, 1)
      if (refusal !== undefined) return sendError(reply, refusal)
      const text = await readAudit(request.params.receipt)
      return text === undefined ? sendError(reply, errorAnswer('not_found')) : sendJson(reply, text)
    },
  )
}
