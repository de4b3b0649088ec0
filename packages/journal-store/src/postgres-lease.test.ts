// G12, C25: what one process at a time does, over a real server, with processes that are killed, stopped and woken.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { notesOptions, POSTGRES_NOTES } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { PostgresDoor } from './postgres-door.ts'
import { openPostgresLease } from './postgres-lease.ts'
import { openPostgresProcess } from './postgres-process.ts'
import {
  type PostgresServer,
  postgresMissing,
  runSql,
  startPostgres,
} from './postgres-server.fixture.ts'
import { migratePostgresStore } from './postgres-store-kind.ts'

const HOLDER = fileURLToPath(new URL('./lease-holder.fixture.ts', import.meta.url))

/** A process that holds a lease; `say` returns what it answers. */
async function startHolder(url: string, name: string) {
  const child: ChildProcess = spawn(process.execPath, [HOLDER, url, name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  if (child.stdout === null) throw new Error('it has no output')
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]()
  const hear = async (): Promise<string> => String((await answers.next()).value)
  return {
    child,
    epoch: await hear(),
    say: (line: string): Promise<string> => {
      child.stdin?.write(`${line}\n`)
      return hear()
    },
  }
}

/** None is expected. */
const onProblem = (error: unknown): void => {
  throw error
}

describe.skipIf(postgresMissing !== undefined)(
  `a lease${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer
    let owner: string
    let url: string
    const endings: (() => unknown)[] = []
    const door = (over: Partial<ReturnType<typeof notesOptions>> = {}) =>
      new PostgresDoor({
        ...notesOptions(url, ':memory:'),
        ...over,
        Unavailable: NotesUnavailable,
      })
    const open = async (process: string, name = 'work', at = door()) => {
      const opened = await openPostgresLease(at, { name, schema: 'notes', process }, { onProblem })
      endings.push(() => opened.close())
      return opened
    }
    const connect = (): PostgresConnection => {
      const connection = new PostgresConnection(door(), { schema: 'notes' })
      endings.push(() => connection.end())
      return connection
    }
    /** The database's clock passes the end of every lease, and forgets every process. */
    const passTime = () =>
      runSql(
        owner,
        "UPDATE notes.leases SET ends_at = '-infinity'; UPDATE notes.processes SET seen_at = '-infinity'",
      )
    beforeAll(() => {
      server = startPostgres()
    })
    afterAll(() => server.end())
    beforeEach(async () => {
      const database = await server.database()
      owner = database.owner
      url = database.as('notes_app')
      await migratePostgresStore(POSTGRES_NOTES, notesOptions(owner, ':memory:'))
    })
    afterEach(async () => {
      for (const end of endings.splice(0).toReversed()) await end()
    })

    it('G12: of a holder that was killed, and of one that was stopped, another process has it within 10 s; what the stopped one stores when it wakes is refused', async () => {
      const [killed, stopped] = await Promise.all([
        startHolder(url, 'killed'),
        startHolder(url, 'stopped'),
      ])
      endings.push(async () => {
        stopped.child.kill('SIGKILL')
        if (stopped.child.exitCode === null && stopped.child.signalCode === null)
          await once(stopped.child, 'exit')
      })
      expect([killed.epoch, stopped.epoch]).toEqual(['1', '1'])
      expect(await stopped.say('early')).toBe('stored; held: true')
      killed.child.kill('SIGKILL')
      stopped.child.kill('SIGSTOP')
      const next = await Promise.all([open('next', 'killed'), open('next', 'stopped')])
      // Whoever waits looks every 2 s.
      const late = "SELECT FROM notes.leases WHERE ends_at > now() + interval '8 s'"
      expect((await runSql(owner, late)).rowCount).toBe(0)
      await expect.poll(() => next.map((lease) => lease.epoch())).toEqual([2, 2])
      const answer = stopped.say('late')
      stopped.child.kill('SIGCONT')
      expect(await answer).toMatch(/another process took the lease; held: false/)
      expect((await runSql(owner, 'SELECT name FROM notes.writers')).rows).toEqual([
        { name: 'early' },
      ])
    })

    it('is held by one of those that open it at once, and by one of those that see it end', async () => {
      const leases = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((each) => open(each)))
      const holders = () => leases.filter((lease) => lease.isHeld())
      expect(holders()).toHaveLength(1)
      const [first] = holders()
      await first?.close()
      await expect.poll(holders).toHaveLength(1)
      expect(holders()[0]?.epoch()).toBe(2)
      expect(holders()[0]).not.toBe(first)
    })

    it('its holder acts only before its own deadline, whatever the database says of it', async () => {
      let nowMs = 0
      const named = { name: 'work', schema: 'notes', process: 'a' }
      const lease = await openPostgresLease(door(), named, { onProblem, nowMs: () => nowMs })
      endings.push(() => lease.close())
      expect(lease.isHeld()).toBe(true)
      nowMs = 6_000
      expect([lease.isHeld(), lease.epoch()]).toEqual([false, undefined])
    })

    it('whoever slept over its end, and nobody took it, goes on in the same epoch', async () => {
      const lease = await open('a')
      await passTime()
      const rows = connect()
      await rows.transaction((query) => lease.require(query, 1))
      expect((await open('a')).epoch()).toBe(1)
    })

    it('work that began in an earlier epoch is refused, even if its process holds the lease again', async () => {
      const [beats, { pause }] = [Promise.withResolvers<void>(), notesOptions(url, '')]
      // Its next beat would take it back before another does.
      const silent = door({
        pause: async (ms) => void (await Promise.all([beats.promise, pause(ms)])),
      })
      const lease = await open('a', 'work', silent)
      await passTime()
      const other = await open('b')
      expect(other.epoch()).toBe(2)
      await other.close()
      beats.resolve()
      await expect.poll(() => lease.epoch()).toBe(3)
      await expect(connect().transaction((query) => lease.require(query, 1))).rejects.toThrow(
        /another process took the lease/,
      )
    })

    it('C25: a process that was silent is forgotten, and goes on under a new id; living processes are counted', async () => {
      let nowMs = 0
      const [first, other] = [
        await openPostgresProcess(door(), POSTGRES_NOTES, { onProblem, nowMs: () => nowMs }),
        await openPostgresProcess(door(), POSTGRES_NOTES, { onProblem }),
      ]
      endings.push(
        () => first.close(),
        () => other.close(),
      )
      expect([first.isKnown(), other.living()]).toEqual([true, 2])
      const ids: string[] = [first.id()]
      first.onForgotten((id) => ids.push(id))
      nowMs = 10_000
      expect(first.isKnown()).toBe(false)
      await passTime()
      await expect.poll(() => ids).toHaveLength(2)
      expect(ids[1]).toBe(first.id())
      expect(ids[1]).not.toBe(ids[0])
      await expect.poll(() => first.isKnown()).toBe(true)
      await other.close()
      await expect.poll(() => first.living()).toBe(1)
      expect((await runSql(owner, 'SELECT id FROM notes.processes')).rows).toEqual([
        { id: first.id() },
      ])
    })
  },
)
