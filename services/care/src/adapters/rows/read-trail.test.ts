import { writeFileSync } from 'node:fs'
import { manualClock } from '@tallystick/service-kit'
import { expect, it } from 'vitest'
import { makeStoreFolder } from '../records/sqlite-store.fixture.ts'
import { openReadTrail, readPatientRows, readReadRows } from './read-trail.ts'
import { openSqliteSideRows } from './side-rows.ts'

const MS_PER_DAY = 86_400_000
const ROWS = 1_500

it('old reads are forgotten some at a time: no group of new rows waits for a long deletion', async () => {
  const rows = openSqliteSideRows(':memory:')
  const clock = manualClock(0)
  const trail = openReadTrail(rows, {
    clock,
    keptDays: 1,
    onProblem: (error) => {
      throw error
    },
  })
  const note = () =>
    trail.noteRead({ actor: 'kin', way: 'mcp', outcome: 'served', uri: 'care://ann/tea' })
  for (let row = 0; row < ROWS; row += 1) note()
  await trail.close()
  clock.advanceMs(2 * MS_PER_DAY)
  const left = async () => {
    note()
    await trail.close()
    return (await readReadRows(rows, { limit: 10_000 })).length
  }
  expect(await left()).toBe(ROWS - 1_024 + 1)
  expect(await left()).toBe(2)
})

it('C30: a person’s reads are found by an index, however many others there are', async () => {
  const rows = openSqliteSideRows(':memory:')
  const plans: unknown[] = []
  const explained = {
    ...rows,
    engine: rows.engine,
    async read<Row>(text: string, values: readonly unknown[] = []) {
      plans.push(...(await rows.read(`EXPLAIN QUERY PLAN ${text}`, values)))
      return [] as readonly Row[]
    },
  }
  const query = { patient: 'ann', audiences: ['user', 'assistant'], limit: 50 } as const
  await readPatientRows(explained, query)
  const steps = plans.map((step) => (step as { readonly detail: string }).detail)
  const searched = steps.filter((detail) => /read_rows/.test(detail))
  expect(searched).toHaveLength(4)
  for (const detail of searched) expect(detail).toContain('USING INDEX read_rows_by_whose')
})

it('a damaged file of side rows names what it holds and what to do, and nothing is made in its place', () => {
  const folder = makeStoreFolder()
  try {
    const path = `${folder.databasePath}.sessions`
    writeFileSync(path, 'no database'.repeat(1_000))
    expect(() => openSqliteSideRows(path)).toThrow(
      /revoked tokens.*replace TOKEN_SECRET.*care revoke/,
    )
  } finally {
    folder.remove()
  }
})
