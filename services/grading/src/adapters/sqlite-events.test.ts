import type { DatabaseSync } from 'node:sqlite'
import { openSqliteRows, runAtOnce } from '@tallystick/journal-store'
import { expect, test } from 'vitest'
import type { EventInfo } from '../domain/closes/event-state.ts'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { sampleEvent } from '../testing/samples.fixture.ts'
import { openEventSearch, searchStatements } from './event-search.ts'
import { openGradingDatabase } from './sqlite-database.ts'
import { SQLITE_SQL, sqliteSearch } from './sqlite-grading-store.ts'

function openEvents(database: DatabaseSync) {
  const rows = openSqliteRows(database, GradingStoreUnavailable)
  let filed = 0
  return {
    file: (event: EventInfo): void => runAtOnce(database, SQLITE_SQL.file([[(filed += 1), event]])),
    find: openEventSearch(sqliteSearch(database), async (text, values) =>
      (await rows<readonly [string]>(text, values)).map(([path]) => path),
    ),
  }
}

test.each([
  ['byStart', 'events_by_start'],
  ['bySport', 'events_by_sport'],
] as const)(
  'a free search without a name reads no more than its index gives it: %s',
  (name, index) => {
    const database = openGradingDatabase(':memory:')
    const plan = database
      .prepare(`EXPLAIN QUERY PLAN ${searchStatements(sqliteSearch(database))[name]}`)
      .all()
      .map(({ detail }) => String(detail))
    database.close()
    expect(plan[0]).toContain(`USING INDEX ${index}`)
    expect(plan.join()).not.toContain('TEMP B-TREE')
  },
)

test('two teams and a day are looked up together, not among all matches of one team or of both', () => {
  const database = openGradingDatabase(':memory:')
  const plan = database
    .prepare(`EXPLAIN QUERY PLAN ${searchStatements(sqliteSearch(database)).byBoth}`)
    .all()
    .map(({ detail }) => String(detail))
  database.close()
  expect(plan.join('\n')).toContain(
    'USING INDEX events_by_home (home=? AND away=? AND start_at>? AND start_at<?)',
  )
  expect(plan.join('\n')).not.toContain('events_by_away')
})

test.each([
  ['of few words', 3],
  ['of more words than are looked up one by one', 250],
])('a beginning finds all its words and no other, %s', async (_case, count) => {
  const database = openGradingDatabase(':memory:')
  const events = openEvents(database)
  const paths = Array.from({ length: count }, (_, index) => {
    const path = `soccer/${index}`
    events.file(sampleEvent({ path, home: `Alpha${index}`, away: `Beta${index}` }))
    return path
  })
  events.file(sampleEvent({ path: 'soccer/other', home: 'Alph', away: 'Betb' }))
  const found = await events.find({ words: ['alpha', 'beta'], limit: 1_000 })
  database.close()
  expect(found.toSorted()).toEqual(paths.toSorted())
})

test('a beginning is found in the letters of the index, which writes a final sigma as any other', async () => {
  const database = openGradingDatabase(':memory:')
  const events = openEvents(database)
  events.file(sampleEvent({ path: 'soccer/volos', home: 'Βόλος', away: 'Βόλοσα' }))
  const found = await events.find({ words: ['βολος'], limit: 10 })
  database.close()
  expect(found).toEqual(['soccer/volos'])
})
