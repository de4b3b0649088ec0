import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type PostgresServer,
  postgresMissing,
  runSql,
  startPostgres,
} from '../../packages/journal-store/src/postgres-server.fixture.ts'
import { documentedMetrics, typesIn } from './metrics-page.ts'
import { spawnStack } from './spawned-stack.ts'

/** Serves exactly what the page lists, with the figures of one process that is alone and well. */
function expectFigures(text: string): void {
  const listed = documentedMetrics('PostgreSQL').map(({ name, type }) => `${name} ${type}`)
  expect(typesIn(text).filter((type) => type.startsWith('postgres_'))).toEqual(listed.toSorted())
  const read = (name: string) =>
    Number(new RegExp(`^postgres_${name} (\\S+)$`, 'm').exec(text)?.[1])
  expect(read('connections')).toBeGreaterThan(1)
  expect(read('look_age_seconds')).toSatisfy(Number.isInteger)
  const names = ['timeline', 'processes', 'lease_epoch', 'silent_hosts', 'doubtful_commits_total']
  expect(names.map(read)).toEqual([1, 1, 1, 0, 0])
}

describe.skipIf(postgresMissing !== undefined)(
  `npm start -- --postgres URL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer
    beforeAll(() => {
      server = startPostgres()
    })
    afterAll(() => server.end())

    it('has care and grading keep everything in a database of its own, which goes with the stack', async () => {
      const place = await server.database()
      const databases = async () =>
        (
          await runSql(
            place.owner,
            "SELECT datname FROM pg_database WHERE datname LIKE '%_local_%'",
          )
        ).rows as readonly { readonly datname: string }[]
      const stack = await spawnStack(['--postgres', place.owner])
      const [made] = await databases()
      const url = place.owner.replace(place.name, made?.datname ?? '')
      for (const schema of ['care', 'grading']) {
        const { rows } = await runSql(url, `SELECT sum(size) > 0 AS grown FROM ${schema}.journals`)
        expect(rows).toEqual([{ grown: true }])
      }
      expect((await fetch(`${stack.description.care.baseUrl}/ready`)).status).toBe(200)
      for (const { baseUrl } of [stack.description.care, stack.description.grading])
        expectFigures(await (await fetch(`${baseUrl}/metrics`)).text())
      expect(await stack.interrupt()).toBe(0)
      expect(await databases()).toEqual([])
    })
  },
)
