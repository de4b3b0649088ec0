import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { PostgresDoor } from './postgres-door.ts'
import {
  type PostgresServer,
  postgresMissing,
  runSql,
  startPostgres,
} from './postgres-server.fixture.ts'
import { watchPostgres } from './watch-postgres.ts'

describe.skipIf(postgresMissing !== undefined)(
  `watching others’ commits${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer
    let url: string
    let watch: Awaited<ReturnType<typeof watchPostgres>>
    /** Looks that have begun; each ends with its own. */
    let looks: PromiseWithResolvers<void>[]
    /** What is paused, which ends with its own: else nothing but a notification wakes. */
    let pauses: PromiseWithResolvers<void>[]
    const tell = (who: string) => runSql(url, `SELECT pg_notify('notes', '${who}')`)

    beforeAll(() => {
      server = startPostgres()
    })
    afterAll(() => server.end())
    beforeEach(async () => {
      url = (await server.database()).owner
      looks = []
      pauses = []
      const pause = () => {
        const paused = Promise.withResolvers<void>()
        pauses.push(paused)
        return paused.promise
      }
      const door = new PostgresDoor({ url, Unavailable: NotesUnavailable, pause })
      watch = await watchPostgres(door, {
        channel: 'notes',
        ownName: 'me',
        look: ({ read }) => {
          const look = Promise.withResolvers<void>()
          looks.push(look)
          return look.promise.then(() => read('SELECT 1')).then(() => undefined)
        },
        onProblem: () => undefined,
      })
      // One looks once whatever was told before.
      await vi.waitUntil(() => looks.length === 1, 60_000)
    })
    afterEach(async () => {
      for (const look of looks) look.resolve()
      await watch.end()
    })

    it('what is told while a look is under way is looked at next', async () => {
      await tell('another')
      // Its notification has come before the answer to what is asked behind it.
      looks[0]?.resolve()
      await expect.poll(() => looks).toHaveLength(2)
    })

    it('a notification that is lost is made up for by a look now and then', async () => {
      looks[0]?.resolve()
      await expect.poll(() => pauses).toHaveLength(2)
      pauses[1]?.resolve()
      await expect.poll(() => looks).toHaveLength(2)
    })

    it('one’s own notification needs no look, another’s does', async () => {
      looks[0]?.resolve()
      await tell('me')
      await tell('another')
      await expect.poll(() => looks).toHaveLength(2)
      looks[1]?.resolve()
      await tell('me')
      await runSql(url, 'SELECT 1')
      expect(looks).toHaveLength(2)
    })
  },
)
