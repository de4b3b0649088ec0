import type { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { sampleEvent } from '../testing/samples.fixture.ts'
import { openEventSearch, searchStatements } from './event-search.ts'
import { openGradingDatabase } from './sqlite-database.ts'
import { openEventReader, sqliteSearch } from './sqlite-events.ts'

function openEvents(database: DatabaseSync) {
  const events = openEventReader(database)
  const paths = async (text: string, values: readonly unknown[]) => events.paths(text, values)
  return { ...events, find: openEventSearch(sqliteSearch(database), { paths }) }
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

test.each([
  ['of few words', 3],
  ['of more words than are looked up one by one', 250],
])('a beginning finds all its words and no other, %s', async (_case, count) => {
  const database = openGradingDatabase(':memory:')
  const events = openEvents(database)
  const paths = Array.from({ length: count }, (_, index) => {
    const path = `soccer/${index}`
    events.idFor(sampleEvent({ path, home: `Alpha${index}`, away: `Beta${index}` }), true)
    return path
  })
  events.idFor(sampleEvent({ path: 'soccer/other', home: 'Alph', away: 'Betb' }), true)
  const found = await events.find({ words: ['alpha', 'beta'], limit: 1_000 })
  database.close()
  expect(found.toSorted()).toEqual(paths.toSorted())
})

test('a beginning is found in the letters of the index, which writes a final sigma as any other', async () => {
  const database = openGradingDatabase(':memory:')
  const events = openEvents(database)
  events.idFor(sampleEvent({ path: 'soccer/volos', home: 'Βόλος', away: 'Βόλοσα' }), true)
  const found = await events.find({ words: ['βολος'], limit: 10 })
  database.close()
  expect(found).toEqual(['soccer/volos'])
})
