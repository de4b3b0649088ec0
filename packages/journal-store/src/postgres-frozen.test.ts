// S12 on PostgreSQL: servers that hang, standbys that are gone, networks that swallow, and the old primary that comes back.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectTo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pauseMs } from 'node:timers/promises'
import { computeRoot, leafHash } from '@tallystick/hashchain'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { notesOptions, POSTGRES_NOTES, type PostgresNotes } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { PostgresDoor } from './postgres-door.ts'
import { openPostgresLease } from './postgres-lease.ts'
import { PostgresLine } from './postgres-line.ts'
import { postgresMissing, runSql, startPostgresPair } from './postgres-server.fixture.ts'
import { openPostgresStore } from './postgres-store.ts'
import { migratePostgresStore } from './postgres-store-kind.ts'
import { appendText } from './store.contract.ts'
import { openWriteProbe } from './write-probe.ts'
import { startWriters } from './writers.fixture.ts'

const POLL = { interval: 20 }

const readTexts = async (store: PostgresNotes): Promise<readonly string[]> =>
  (await store.read<{ readonly text: string }>('SELECT text FROM notes.notes ORDER BY at')).map(
    ({ text }) => text,
  )

const readTimeline = async (connection: PostgresConnection) => {
  const [row] = await connection.read<{ readonly name: string }>(
    'SELECT pg_walfile_name(pg_current_wal_lsn()) AS name',
  )
  return Number(row?.name.slice(0, 8))
}

const add = (connection: PostgresConnection, id: number) =>
  connection.transaction((query) => query('INSERT INTO notes.writers VALUES ($1, 0)', [String(id)]))

/** Stands before a server's socket: as soon as it swallows, nothing comes through any more, and nobody is told. */
async function openSwallower(folder: string, before: string) {
  const sockets: Socket[] = []
  let isSwallowing = false
  const pass = (from: Socket, to: Socket): void => {
    sockets.push(from)
    from.on('data', (chunk) => {
      if (!isSwallowing) to.write(chunk)
    })
    from.on('error', () => to.destroy()).on('close', () => isSwallowing || to.destroy())
  }
  const proxy = createServer((client) => {
    const server = connectTo(join(before, '.s.PGSQL.5432'))
    pass(client, server)
    pass(server, client)
  })
  proxy.listen(join(folder, '.s.PGSQL.5432'))
  await once(proxy, 'listening')
  return {
    swallow: (): void => {
      isSwallowing = true
    },
    end: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}

describe.skipIf(postgresMissing !== undefined || process.env['DATABASE_URL'] !== undefined)(
  `S12 on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let folder: string
    let pair: Awaited<ReturnType<typeof startPostgresPair>>
    let url: string
    let owner: string
    let endings: (() => Promise<unknown>)[]
    const server = (name = 'one', at = url) => ({
      ...notesOptions(at, join(folder, name)),
      Unavailable: NotesUnavailable,
    })
    const open = async (name = 'one'): Promise<PostgresNotes> => {
      const store = await openPostgresStore(POSTGRES_NOTES, server(name))
      endings.push(() => store.close())
      return store
    }
    const connect = (door: PostgresDoor): PostgresConnection => {
      const connection = new PostgresConnection(door, { schema: 'notes' })
      endings.push(() => connection.end())
      return connection
    }
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'frozen-'))
      endings = []
      pair = await startPostgresPair()
      const database = await pair.database()
      owner = database.owner
      await migratePostgresStore(POSTGRES_NOTES, notesOptions(owner, ':memory:'))
      url = pair.both(database.as('notes_app'))
    })
    afterEach(async () => {
      pair.thawPrimary()
      await Promise.all(endings.map((end) => end()))
      pair.end()
      rmSync(folder, { recursive: true, force: true })
    })

    it.for(['a primary that hangs', 'a network that swallows'])(
      '%s, and the standby promoted, under 16 writers: writes go on by themselves, 0 lost, 0 twice',
      async (what, context) => {
        const primary = /@([^,/]*)/.exec(url)?.[1] ?? ''
        const swallower = await openSwallower(folder, decodeURIComponent(primary))
        endings.push(swallower.end)
        if (what === 'a network that swallows')
          url = url.replace(primary, encodeURIComponent(folder))
        const stores = [await open('one'), await open('other')] as const
        const { acknowledged, end } = startWriters(16, stores)
        await expect.poll(() => acknowledged.length, POLL).toBeGreaterThan(100)
        if (what === 'a primary that hangs') pair.freezePrimary()
        else swallower.swallow()
        await pauseMs(1_000)
        const survived = acknowledged.length
        pair.promoteStandby()
        const promotedMs = performance.now()
        await expect.poll(() => acknowledged.length, POLL).toBeGreaterThan(survived)
        await context.annotate(
          `written again ${Math.round(performance.now() - promotedMs)} ms after the promotion`,
        )
        await expect.poll(() => acknowledged.length, POLL).toBeGreaterThan(survived + 100)
        await end()
        const texts = await readTexts(stores[0])
        const stored = new Set(texts)
        expect(acknowledged.filter((text) => !stored.has(text))).toEqual([])
        expect(stored.size).toBe(texts.length)
        await stores[0].catchUp()
        const root = computeRoot(texts.map((text) => leafHash(Buffer.from(text))))
        expect(Buffer.from(stores[0].journals.notes.rootHash())).toEqual(Buffer.from(root))
      },
    )

    it('S12: transactions that wait while no server answers are refused with the one that found none, and the next are done', async () => {
      const door = new PostgresDoor({ ...server(), findMs: 100 })
      const find = vi.spyOn(door, 'find')
      const connection = connect(door)
      await add(connection, 0)
      pair.freezePrimary()
      const waiting = [1, 2, 3, 4].map((id) => add(connection, id))
      for (const end of await Promise.allSettled(waiting))
        expect(end).toMatchObject({ status: 'rejected', reason: expect.any(NotesUnavailable) })
      // Once for the first transaction, and once more after its line was given up.
      expect(find).toHaveBeenCalledTimes(2)
      pair.thawPrimary()
      await expect.poll(() => add(connection, 5).catch(() => 'refused'), POLL).not.toBe('refused')
    })

    it('S12: a host that left a statement unanswered is not waited for again where another takes writes, and else it is', async () => {
      const primary = decodeURIComponent(/@([^,/]*)/.exec(url)?.[1] ?? '')
      const swallower = await openSwallower(folder, primary)
      endings.push(swallower.end)
      const through = url.replace(/@[^,/]*/, `@${encodeURIComponent(folder)}`)
      const options = { ...server('one', through), answerMs: 500, findMs: 100 }
      const connection = connect(new PostgresDoor(options))
      await add(connection, 1)
      swallower.swallow()
      // The standby takes no writes: all depends on the silent one.
      await expect(add(connection, 2)).rejects.toThrow(/no server takes writes/)
      const connectLine = PostgresLine.connect.bind(PostgresLine)
      const connecting = vi
        .spyOn(PostgresLine, 'connect')
        .mockImplementation((address, limits) =>
          address.includes(encodeURIComponent(folder))
            ? new Promise(() => undefined)
            : connectLine(address, limits),
        )
      try {
        pair.promoteStandby()
        await add(connection, 3)
        expect(await readTimeline(connection)).toBe(2)
      } finally {
        connecting.mockRestore()
      }
    })

    it('S12: at a server that hangs one attempt waits for all of a process, since it lets everybody in later that was given up, and once it goes on all are let in', async () => {
      const door = new PostgresDoor({ ...server(), findMs: 5_000 })
      const lines = await Promise.all(Array.from({ length: 8 }, () => door.find()))
      endings.push(async () => Promise.all(lines.map((line) => line.end())))
      pair.freezePrimary()
      const connecting = vi.spyOn(PostgresLine, 'connect')
      try {
        const seeking = Array.from({ length: 8 }, () => door.find())
        for (const found of await Promise.allSettled(seeking)) expect(found.status).toBe('rejected')
        const [primary = ''] = url.split(',')
        const attempts = connecting.mock.calls.filter(([address]) => address.startsWith(primary))
        // Once each, and once for all of them.
        expect(attempts.length).toBeLessThanOrEqual(8 + 1)
        const seekingStill = Array.from({ length: 8 }, () => door.find())
        pair.thawPrimary()
        lines.push(...(await Promise.all(seekingStill)))
      } finally {
        connecting.mockRestore()
      }
    })

    it('G12: on a server that hangs a lease is nobody’s after its time, and is held again on the promoted one', async () => {
      const lease = await openPostgresLease(
        new PostgresDoor(server()),
        { name: 'work', schema: 'notes', process: 'first' },
        { onProblem: () => undefined },
      )
      endings.push(() => lease.close())
      expect(lease.epoch()).toBe(1)
      pair.freezePrimary()
      await expect.poll(() => lease.isHeld(), POLL).toBe(false)
      pair.promoteStandby()
      await expect.poll(() => lease.epoch(), POLL).toBe(1)
    })

    it('the old primary that comes back takes nothing: what was open to it is cut, and whoever starts now, or elsewhere, takes the newer one', async () => {
      const door = new PostgresDoor(server())
      const [idle, busy] = [connect(door), connect(door)]
      expect([await readTimeline(idle), await readTimeline(busy)]).toEqual([1, 1])
      pair.freezePrimary()
      pair.promoteStandby()
      expect(await readTimeline(busy)).toBe(2)
      pair.thawPrimary()
      // It was idle all the time, and its server answers again.
      await add(idle, 1)
      expect(await readTimeline(idle)).toBe(2)
      // Another machine knows no timeline, and finds two servers that take writes.
      expect(await readTimeline(connect(new PostgresDoor(server('elsewhere'))))).toBe(2)
      // The next process on this one finds the old one alone.
      const alone = { ...server('one', url.replace(/,[^/]*/, '')), findMs: 100 }
      await expect(add(connect(new PostgresDoor(alone)), 2)).rejects.toThrow(
        /on timeline 1, and 2 was seen/,
      )
    })

    it('S12: whoever sees the newer timeline first cuts what is open to the old primary, which still answers, with nothing asked there', async () => {
      const door = new PostgresDoor(server())
      const old = await door.find()
      pair.promoteStandby()
      expect(old.isOpen).toBe(true)
      const newer = await door.find()
      expect([old.isOpen, newer.isOpen]).toEqual([false, true])
      await newer.end()
    })

    it('a failure names the database, with hosts, ports and name, and never the password', async () => {
      const named = 'postgres://notes_app:hunter2@127.0.0.1:1,127.0.0.1:2/ledger?sslmode=disable'
      const door = new PostgresDoor({ ...server('one', named), noun: 'the notes', findMs: 1 })
      const failure: unknown = await add(connect(door), 1).catch(String)
      expect(failure).toMatch(
        /: the notes \(127\.0\.0\.1:1,127\.0\.0\.1:2\/ledger\): no server takes writes: /,
      )
      expect(failure).not.toContain('hunter2')
    })

    it('S12: a group in doubt that is found stored is acknowledged once the standby has it, not before', async () => {
      const store = await open()
      await appendText(store, 'confirmed')
      pair.stopStandby()
      let isAcknowledged = false
      const writing = appendText(store, 'in doubt').then(() => {
        isAcknowledged = true
        return isAcknowledged
      })
      const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE wait_event = 'SyncRep' AND usename = 'notes_app'`
      const ended = async () => (await runSql(owner, end)).rowCount
      // The group is stored now, and its COMMIT was not answered.
      await expect.poll(ended, POLL).toBe(1)
      // The next attempt found it, and waits.
      await expect
        .poll(
          async () => (await runSql(owner, end.replace(/pg_terminate_backend.pid./, '1'))).rowCount,
          POLL,
        )
        .toBe(1)
      expect(isAcknowledged).toBe(false)
      pair.startStandby()
      await writing
      expect(await readTexts(store)).toEqual(['confirmed', 'in doubt'])
    })

    it('S13: no standby confirms: a write is refused as not known in time, readiness says why, and the write is there once the standby is back', async () => {
      const store = await open()
      const door = new PostgresDoor(server())
      const probe = openWriteProbe(door, () => undefined)
      endings.push(() => probe.end())
      await appendText(store, 'confirmed')
      await expect.poll(() => probe.trouble(), POLL).toBeUndefined()
      pair.stopStandby()
      const writing = appendText(store, 'in doubt').catch(String)
      await expect.poll(() => probe.trouble(), POLL).toMatchObject({ reason: 'commits_wait' })
      expect(await writing).toMatch(/not known what was written/)
      const backends = await runSql(
        url.replace(/,[^/]*/, ''),
        "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
      )
      // One of the appender, one of the probe, however often they asked.
      expect(backends.rowCount).toBe(2)
      pair.startStandby()
      await expect.poll(() => probe.trouble(), POLL).toBeUndefined()
      await appendText(store, 'after')
      expect(await readTexts(store)).toEqual(['confirmed', 'in doubt', 'after'])
    })

    it('a promoted server whose copied settings name dead standbys: readiness says that commits wait, until it is told to wait for nobody', async () => {
      const admin = pair.second(owner)
      const waitFor = async (names: string): Promise<void> => {
        await runSql(admin, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
        await runSql(admin, 'SELECT pg_reload_conf()')
      }
      const store = await open()
      await waitFor('*')
      pair.failOver()
      const probe = openWriteProbe(new PostgresDoor(server()), () => undefined)
      endings.push(() => probe.end())
      await expect.poll(() => probe.trouble(), POLL).toMatchObject({ reason: 'commits_wait' })
      await waitFor('')
      await expect.poll(() => probe.trouble(), POLL).toBeUndefined()
      expect(await appendText(store, 'goes on')).toBe(0)
    })

    it('rows whose COMMIT waits are not sent a second time beside it', async () => {
      const connection = connect(new PostgresDoor(server()))
      await add(connection, 1)
      pair.stopStandby()
      await expect(add(connection, 2)).rejects.toThrow(/commits wait/)
      await expect(add(connection, 3)).rejects.toThrow(/commits wait/)
      pair.startStandby()
      await expect
        .poll(
          () =>
            add(connection, 4).then(
              () => 'added',
              () => 'refused',
            ),
          POLL,
        )
        .toBe('added')
      const rows = await connection.read('SELECT name AS id FROM notes.writers ORDER BY name')
      expect(rows).toEqual([{ id: '1' }, { id: '2' }, { id: '4' }])
    })

    it('a process that stops says what is in doubt, and waits for it no longer', async () => {
      const problems: string[] = []
      const door = new PostgresDoor(server())
      const onProblem = (error: unknown) => problems.push(String(error))
      const store = await openPostgresStore(POSTGRES_NOTES, {
        ...server(),
        door,
        onProblem,
      })
      endings.push(() => store.close())
      await appendText(store, 'confirmed')
      pair.stopStandby()
      const writing = appendText(store, 'in doubt').catch(String)
      await expect
        .poll(
          async () =>
            (
              await runSql(
                url.replace(/,[^/]*/, ''),
                "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
              )
            ).rowCount,
          POLL,
        )
        .toBe(1)
      door.stop(onProblem, 100)
      expect(await writing).toMatch(/not known what was written: the process stops/)
      await store.close()
      expect(problems.join()).toMatch(/it is not known what was written/)
      pair.startStandby()
    })
  },
)
