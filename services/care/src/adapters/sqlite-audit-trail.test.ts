import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AuditTrail } from '../domain/publish-record.ts'
import type { AuditRow } from '../wire/write.ts'
import { AuditTrailUnavailable, REFUSAL_FLUSH_MS } from './batched-audit-trail.ts'
import { openSqliteAuditTrail, readSqliteAuditRows } from './sqlite-audit-trail.ts'

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

describe('audit rows (care.md, C15)', () => {
  let folder: string
  let path: string
  let clock: ManualClock
  let trail: AuditTrail
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'care-audit-'))
    path = join(folder, 'care.db.sessions')
    clock = manualClock(0)
    trail = openSqliteAuditTrail({ path, clock, refusalsKeptMax: 10 })
  })
  afterEach(async () => {
    await trail.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const onDisk = () => readSqliteAuditRows(path, { limit: 1_000 })

  it('an accepted row is on the disk when it resolves, with its URI', async () => {
    await Promise.all([trail.add(accepted), trail.add({ ...accepted, uri: 'care://ann/sleep' })])
    expect(onDisk()).toEqual([
      { ...accepted, sequence: 2, uri: 'care://ann/sleep' },
      { ...accepted, sequence: 1 },
    ])
  })

  it('refusal rows are batched: they are written after a second, without a URI', async () => {
    await trail.add(refused)
    expect(onDisk()).toEqual([])
    clock.advanceMs(REFUSAL_FLUSH_MS)
    expect(onDisk()).toEqual([{ ...refused, sequence: 1 }])
    expect(clock.pendingCount()).toBe(0)
  })

  it('refusal rows go along with the next accepted one, in order', async () => {
    await trail.add(refused)
    await trail.add(accepted)
    expect(onDisk().map(({ outcome }) => outcome)).toEqual(['accepted', 'rejected'])
    expect(clock.pendingCount()).toBe(0)
  })

  it('refusal rows rotate at their bound; accepted ones stay', async () => {
    await trail.add(accepted)
    for (let count = 0; count < 600; count += 1)
      await trail.add({ ...refused, actor: `writer-${count}` })
    const rows = await trail.read({ limit: 1_000 })
    expect(rows.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
    const kept = rows.filter(({ outcome }) => outcome === 'rejected')
    expect(kept.map(({ actor }) => actor)).toEqual(
      Array.from({ length: 10 }, (_, back) => `writer-${599 - back}`),
    )
  })

  it('rows are read newest first, page by page', async () => {
    for (const actor of ['a', 'b', 'c']) await trail.add({ ...accepted, actor })
    const page = await trail.read({ limit: 2 })
    expect(page.map(({ actor }) => actor)).toEqual(['c', 'b'])
    const rest = await trail.read({ limit: 2, before: page.at(-1)?.sequence ?? 0 })
    expect(rest.map(({ actor }) => actor)).toEqual(['a'])
  })

  it('rows outlive the process', async () => {
    await trail.add(refused)
    await trail.close()
    trail = openSqliteAuditTrail({ path, clock })
    expect(await trail.read({ limit: 10 })).toHaveLength(1)
  })

  it('an accepted row that cannot be written is an error, not a silent loss', async () => {
    const blocker = new DatabaseSync(path)
    blocker.exec('DROP TABLE audit_rows')
    blocker.close()
    await expect(trail.add(accepted)).rejects.toThrow(AuditTrailUnavailable)
  })

  it('refusals that could not be written are reported, alone and beside an accepted row', async () => {
    const problems: unknown[] = []
    await trail.close()
    trail = openSqliteAuditTrail({ path, clock, onProblem: (error) => problems.push(error) })
    const blocker = new DatabaseSync(path)
    blocker.exec('DROP TABLE audit_rows')
    blocker.close()
    await trail.add(refused)
    clock.advanceMs(REFUSAL_FLUSH_MS)
    expect(problems).toEqual([expect.any(AuditTrailUnavailable)])
    await trail.add(refused)
    await expect(trail.add(accepted)).rejects.toThrow(AuditTrailUnavailable)
    expect(problems).toHaveLength(2)
  })

  it('a closed trail takes nothing more', async () => {
    await trail.close()
    await expect(trail.add(accepted)).rejects.toThrow(AuditTrailUnavailable)
  })
})
