import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type PostgresServer,
  postgresMissing,
  runSql,
  startPostgres,
} from '../../packages/journal-store/src/postgres-server.fixture.ts'
import { spawnStack } from './spawned-stack.ts'

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
      expect(await stack.interrupt()).toBe(0)
      expect(await databases()).toEqual([])
    })
  },
)
