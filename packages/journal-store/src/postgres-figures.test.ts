import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { PostgresDoor } from './postgres-door.ts'
import type { PostgresLine } from './postgres-line.ts'
import { type PostgresServer, postgresMissing, startPostgres } from './postgres-server.fixture.ts'
import { watchPostgres } from './watch-postgres.ts'

const pause = () => new Promise<void>((resolve) => setImmediate(resolve))

describe.skipIf(postgresMissing !== undefined)(
  `S4: what a process knows of PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer
    let door: PostgresDoor
    let lines: PostgresLine[]

    beforeAll(() => {
      server = startPostgres()
    })
    afterAll(() => server.end())
    beforeEach(async () => {
      const url = (await server.database()).owner
      door = new PostgresDoor({ url, Unavailable: NotesUnavailable, pause })
      lines = [await door.find(), await door.find()]
    })
    afterEach(async () => {
      await Promise.all(lines.map((line) => line.end()))
    })

    it('which connections are open, and which statements wait for an answer', async () => {
      const [holding, waiting] = lines
      await holding?.run('BEGIN; SELECT pg_advisory_xact_lock(1)')
      const idle = { busyConnections: 0, unansweredStatements: 0, unansweredCommits: 0 }
      expect(door.figures()).toMatchObject({ connections: 2, timeline: 1, ...idle })
      const [first, second] = [1, 2].map(() => waiting?.run('SELECT pg_advisory_lock(1)'))
      expect(door.figures()).toMatchObject({ busyConnections: 1, unansweredStatements: 2 })
      const committing = holding?.commit()
      expect(door.figures()).toMatchObject({ busyConnections: 2, unansweredCommits: 1 })
      await Promise.all([committing, first, second])
      expect(door.figures()).toMatchObject(idle)
      await waiting?.end()
      expect(door.figures()).toMatchObject({ connections: 1 })
    })

    it('how many COMMITs never got an answer', async () => {
      const [line] = lines
      await line?.run('BEGIN')
      const committing = line?.commit()
      line?.destroy(new Error('the connection is gone'))
      await expect(committing).rejects.toThrow('gone')
      expect(door.figures()).toMatchObject({ doubtfulCommitsTotal: 1, unansweredCommits: 0 })
    })

    it('C30: when it last saw what others committed, in whole seconds, so that nobody sees when they did', async () => {
      expect(door.figures().lookAgeSeconds).toBe(0)
      let isFailing = false
      let looks = 0
      const watch = await watchPostgres(door, {
        channel: 'notes',
        ownName: 'me',
        look: async () => {
          looks += 1
          if (isFailing) throw new Error('no answer')
        },
        onProblem: () => undefined,
      })
      const [last] = door.looks
      const opened = last?.atMs ?? 0
      await vi.waitUntil(() => (last?.atMs ?? 0) > opened, 60_000)
      isFailing = true
      const failingFrom = looks
      await vi.waitUntil(() => looks > failingFrom + 1, 60_000)
      const lastSeen = last?.atMs
      await vi.waitUntil(() => door.figures().lookAgeSeconds > 0, 60_000)
      expect(last?.atMs).toBe(lastSeen)
      await watch.end()
      expect(door.looks.size).toBe(0)
    })
  },
)
