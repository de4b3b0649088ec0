// The rules that an audit trail keeps on every engine. A suite gets a place where it can reopen trails.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AuditTrail } from '../../domain/publish-record.ts'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import type { AuditRow, KeptAuditRow } from '../../wire/write.ts'
import { type AuditTrailOptions, REFUSAL_FLUSH_MS } from './audit-rows.ts'

const AT = '2026-06-01T08:00:00.000Z'
const accepted: AuditRow = {
  at: AT,
  outcome: 'accepted',
  reason: 'ok',
  via: 'hmac',
  actor: 'dr-osei',
  uri: 'care://ann/tea',
}
const refused: AuditRow = {
  at: AT,
  outcome: 'rejected',
  reason: 'bad_signature',
  via: 'hmac',
  actor: null,
}

type TrailPlace = {
  open(options: AuditTrailOptions): AuditTrail
  /** Rows that are stored, newest first, as another process reads them. */
  stored(page?: {
    readonly limit: number
    readonly before?: number
  }): Promise<readonly KeptAuditRow[]>
  /** No row can be written any more. */
  breakRows(): Promise<void>
  end(): Promise<void>
}

/** A row as it is kept, under whatever number. */
const stored = (row: AuditRow) => ({ ...row, sequence: expect.any(Number) as number })

export function describeAuditTrail(name: string, start: () => Promise<TrailPlace>): void {
  describe(`audit rows (care.md, C15): ${name}`, () => {
    let place: TrailPlace
    let clock: ManualClock
    let trail: AuditTrail
    let opened: AuditTrail[]
    const open = (over: Partial<Parameters<TrailPlace['open']>[0]> = {}): AuditTrail => {
      const made = place.open({ clock, ...over })
      opened.push(made)
      return made
    }
    beforeEach(async () => {
      place = await start()
      clock = manualClock(0)
      opened = []
      trail = open({ refusalsKeptMax: 10 })
    })
    afterEach(async () => {
      for (const each of opened) await each.close()
      await place.end()
    })

    it('an accepted row is stored when it resolves, with its URI; the newest comes first', async () => {
      await Promise.all([trail.add(accepted), trail.add({ ...accepted, uri: 'care://ann/sleep' })])
      const rows = await place.stored()
      expect(rows).toEqual([stored({ ...accepted, uri: 'care://ann/sleep' }), stored(accepted)])
      expect(rows[0]?.sequence).toBeGreaterThan(rows[1]?.sequence ?? Infinity)
    })

    it('refusal rows are batched: they are written after a second, without a URI', async () => {
      await trail.add(refused)
      expect(await place.stored()).toEqual([])
      clock.advanceMs(REFUSAL_FLUSH_MS)
      await expect.poll(() => place.stored()).toEqual([stored(refused)])
      expect(clock.pendingCount()).toBe(0)
    })

    it('refusal rows go along with the next accepted one, in order', async () => {
      await trail.add(refused)
      await trail.add(accepted)
      expect(await place.stored()).toEqual([stored(accepted), stored(refused)])
      expect(clock.pendingCount()).toBe(0)
    })

    it('refusal rows rotate at their bound; accepted ones stay', async () => {
      await trail.add(accepted)
      for (let count = 0; count < 600; count += 1)
        await trail.add({ ...refused, actor: `writer-${count}` })
      await trail.close()
      const rows = await place.stored()
      expect(rows.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
      const refusals = rows.filter(({ outcome }) => outcome === 'rejected')
      expect(refusals.map(({ actor }) => actor)).toEqual(
        Array.from({ length: 10 }, (_, back) => `writer-${599 - back}`),
      )
    })

    it('rows are read newest first, page by page', async () => {
      for (const actor of ['a', 'b', 'c']) await trail.add({ ...accepted, actor })
      const page = await place.stored({ limit: 2 })
      expect(page.map(({ actor }) => actor)).toEqual(['c', 'b'])
      const rest = await place.stored({ limit: 2, before: page.at(-1)?.sequence ?? 0 })
      expect(rest.map(({ actor }) => actor)).toEqual(['a'])
    })

    it('who wrote is kept as it was sent, whatever characters it holds', async () => {
      const actors = ['é', '\u0000', '"; DROP TABLE audit_rows; --', '{a,b}', '🙂', '']
      for (const actor of actors) await trail.add({ ...accepted, actor })
      const rows = await place.stored()
      expect(rows.map(({ actor }) => actor).toReversed()).toEqual(actors)
    })

    it('rows outlive the process', async () => {
      await trail.add(refused)
      await trail.close()
      expect(await place.stored()).toHaveLength(1)
    })

    it('an accepted row that cannot be written is an error, not a silent loss', async () => {
      await place.breakRows()
      await expect(trail.add(accepted)).rejects.toThrow(RecordStoreUnavailable)
    })

    it('refusals that could not be written are reported, alone and beside an accepted row', async () => {
      const problems: unknown[] = []
      await trail.close()
      const broken = open({ onProblem: (error) => problems.push(error) })
      await place.breakRows()
      await broken.add(refused)
      clock.advanceMs(REFUSAL_FLUSH_MS)
      await expect.poll(() => problems).toEqual([expect.any(RecordStoreUnavailable)])
      await broken.add(refused)
      await expect(broken.add(accepted)).rejects.toThrow(RecordStoreUnavailable)
      expect(problems).toHaveLength(2)
    })

    it('a closed trail takes nothing more', async () => {
      await trail.close()
      await expect(trail.add(accepted)).rejects.toThrow(RecordStoreUnavailable)
    })
  })
}
