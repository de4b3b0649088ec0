import { expect, test } from 'vitest'
import { EVENT_LOOKUPS } from './sqlite-event-index.ts'
import { openGradingDatabase } from './sqlite-grading-database.ts'

test.each([
  ['byStart', 'events_by_start'],
  ['bySport', 'events_by_sport'],
] as const)(
  'a free search without a name reads no more than its index gives it: %s',
  (name, index) => {
    const database = openGradingDatabase(':memory:')
    const plan = database
      .prepare(`EXPLAIN QUERY PLAN ${EVENT_LOOKUPS[name]}`)
      .all()
      .map(({ detail }) => String(detail))
    database.close()
    expect(plan[0]).toContain(`USING INDEX ${index}`)
    expect(plan.join()).not.toContain('TEMP B-TREE')
  },
)
