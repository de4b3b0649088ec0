import { expect, test } from 'vitest'
import { openGradingDatabase } from './sqlite-database.ts'
import { EVENT_LOOKUPS } from './sqlite-events.ts'

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
