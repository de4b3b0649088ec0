/**
 * The port of long work: reading and grading up to 1,000 picks, and searching for words, which takes longer than other
 * requests may wait. Inputs and answers are values that can be sent between threads, and a finished answer is JSON.
 */
import type { RequestIssue } from '@tallystick/service-kit'
import type { Card } from '../../wire/cards.ts'
import type { CoverageRequest } from '../../wire/coverage.ts'
import type { CoverageQuery } from '../markets/coverage.ts'

/** Cards with one grade, and for those without any with one reason. */
export type GradeCount = {
  readonly grade: Card['grade']
  readonly reason: string
  readonly count: number
}

/** An audit as it is answered. */
export type AuditJson = {
  readonly json: string
  readonly picks: number
  readonly grades: readonly GradeCount[]
}

/** A body, parsed from JSON; over MCP it is the arguments of a call, which is hashed once it is paid. */
export type AuditBody = {
  readonly body: unknown
  readonly paidCall?: { readonly server: string; readonly name: string } | undefined
}

type ReadAudit =
  | { readonly kind: 'probe' }
  | { readonly kind: 'malformed'; readonly issues: readonly RequestIssue[] }
  /** `text` is the canonical text of the body: what the payment buys. `callHash` is absent if no JSON holds the arguments. */
  | { readonly kind: 'asked'; readonly text: string; readonly callHash?: string | undefined }

type Preview =
  | { readonly kind: 'malformed'; readonly issues: readonly RequestIssue[] }
  | { readonly kind: 'answered'; readonly json: string }

/** Every method throws GradingStoreUnavailable if the store fails, and LongWorkUnavailable if its thread does. */
export type LongWork = {
  /** Reads the body of an audit, and hashes its call if it was paid by one. */
  readAudit(sent: AuditBody): Promise<ReadAudit>
  /** Makes the audit that the text of a body asks for. Changes nothing: audits never commit. */
  audit(job: { readonly text: string; readonly payer: string }): Promise<AuditJson>
  /** Makes a paid audit again, under its receipt. */
  repeatAudit(job: { readonly text: string; readonly receipt: string }): Promise<string>
  /** Says what would become of each pick; `spentMs` is the CPU time that was spent before. */
  preview(job: { readonly body: CoverageRequest; readonly spentMs: number }): Promise<Preview>
  /** Finds events by what a person knows about them. */
  search(query: Extract<CoverageQuery, { kind: 'search' }>): Promise<string>
}

/** Too much long work waits, it took too long, or its thread failed. */
export class LongWorkUnavailable extends Error {
  override readonly name = 'LongWorkUnavailable'
}

/** An audit's JSON under its receipt, which exists only once its payment is settled. */
export const underReceipt = (json: string, receipt: string): string =>
  `{"receipt":${JSON.stringify(receipt)},${json.slice(1)}`

/** The same work, where of one payer one audit is made at a time (X16): its next one waits for it, and others go past. */
export function oneAuditPerPayer(longWork: LongWork): LongWork {
  const last = new Map<string, Promise<unknown>>()
  return {
    ...longWork,
    async audit(job) {
      const { payer } = job
      const before = last.get(payer) ?? Promise.resolve()
      const running = before.then(() => longWork.audit(job))
      const ended = running.catch(() => undefined)
      last.set(payer, ended)
      try {
        return await running
      } finally {
        if (last.get(payer) === ended) last.delete(payer)
      }
    },
  }
}
