/** Does long work, on whatever thread calls: the service's runs in long-thread.ts. */

import type { SlateGrader } from '../domain/audits/slate-grader.ts'
import type { LedgerReader } from '../domain/closes/grading-store.ts'
import { type AuditJson, type LongWork, underReceipt } from '../domain/grading/long-work.ts'
import { coverageAnswer } from '../domain/markets/coverage.ts'
import { DEFAULT_GRADE_OPTIONS } from '../domain/markets/pick-request.ts'
import { readPicks } from '../routes/read-picks.ts'
import { countGrades, hashCall, readSale } from '../routes/sale-job.ts'
import { type PreviewGrader, previewAnswer } from './preview.ts'

/** CPU time used by this thread so far, ms. */
export function threadCpuMs(): number {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1_000
}

type LongWorkParts = {
  readonly slates: PreviewGrader & Pick<SlateGrader, 'audit'>
  readonly store: Pick<LedgerReader, 'events' | 'searchEvents'>
  /** CPU time used by this thread so far, ms. Waiting for a database uses none. */
  readonly cpuMs: () => number
}

export function createLongWork({ cpuMs, slates, store }: LongWorkParts): LongWork {
  async function audit({ text }: { readonly text: string }): Promise<AuditJson> {
    const read = readSale('audit', JSON.parse(text))
    if (read.kind !== 'asked' || read.request.kind !== 'audit')
      throw new Error('a text that was read before is no audit')
    const answer = await slates.audit(read.request.audit)
    const { picks } = answer
    return { json: JSON.stringify(answer), picks: picks.length, grades: countGrades(picks) }
  }

  return {
    audit,
    async readAudit(sent) {
      const read = readSale('audit', sent.body)
      if (read.kind !== 'asked') return read
      return { kind: 'asked', text: read.text, callHash: hashCall(sent) }
    },
    repeatAudit: async ({ receipt, text }) => underReceipt((await audit({ text })).json, receipt),
    async preview({ body, spentMs }) {
      const from = cpuMs()
      const read = readPicks(body, DEFAULT_GRADE_OPTIONS)
      if (read.kind === 'unreadable') return { kind: 'malformed', issues: read.issues }
      const answer = await previewAnswer(slates, read, () => spentMs + cpuMs() - from)
      return { kind: 'answered', json: JSON.stringify(answer) }
    },
    search: async (query) => JSON.stringify(await coverageAnswer(store, query)),
  }
}
