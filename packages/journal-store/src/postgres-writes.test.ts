import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyRing, type KeyRing, leafHash, rootOf } from '@tallystick/hashchain'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { notesOptions, POSTGRES_DIARIES } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import type { PostgresTransaction } from './postgres-group.ts'
import {
  openPostgresJournalReader,
  openPostgresJournalStore,
  type PostgresJournalStore,
} from './postgres-journal-store.ts'
import { resealPostgresStore } from './postgres-reseal.ts'
import {
  type PostgresServer,
  postgresMissing,
  runSql,
  startPostgres,
} from './postgres-server.fixture.ts'
import { migratePostgresStore } from './postgres-store-kind.ts'
import { bodyOfBytes, createBodySeal } from './sealed-bodies.ts'

type Diaries = PostgresJournalStore<'day' | 'night'>
type Running = PostgresTransaction<'day' | 'night'>

const hashOf = (text: string): Uint8Array => leafHash(Buffer.from(text))
const ringOf = (...ids: readonly [string, ...string[]]): KeyRing =>
  createKeyRing({
    activeId: ids[0],
    keys: ids.map((id) => ({ id, key: new Uint8Array(32).fill(id.length) })),
  })

/** Counts a writer's entries: what it reads is under the lock, its row and its entry are of one transaction. */
const count =
  (name: string, journal: 'day' | 'night' = 'day') =>
  async ({ journals, query, send }: Running): Promise<number> => {
    const [known] = await query<{ readonly entries: number }>(
      'SELECT entries FROM diaries.writers WHERE name = $1',
      [name],
    )
    const entries = (known?.entries ?? 0) + 1
    send(
      'INSERT INTO diaries.writers VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET entries = excluded.entries',
      [name, entries],
    )
    const text = `${name} ${entries}`
    journals[journal].append(hashOf(text), [Buffer.from(text)])
    return entries
  }

const writeSealed = (to: Diaries, ring: KeyRing, text: string) =>
  to.write(({ journals: { day } }) =>
    day.append(hashOf(text), [Buffer.from(createBodySeal(ring).close(text, `day|${day.size}`))]),
  )

describe.skipIf(postgresMissing !== undefined)(
  `writes on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer
    let database: Awaited<ReturnType<PostgresServer['database']>>
    let folder: string
    let store: Diaries
    const opened: { close(): Promise<void> }[] = []
    const optionsOf = (url: string) => notesOptions(url, join(folder, 'diaries'))
    const open = async (over: object = {}): Promise<Diaries> => {
      const made = await openPostgresJournalStore<'day' | 'night'>(POSTGRES_DIARIES, {
        ...optionsOf(database.as('diaries_app')),
        ...over,
      })
      opened.push(made)
      return made
    }
    const rows = async (sql: string) => (await runSql(database.owner, sql)).rows as unknown[]

    beforeAll(() => {
      server = startPostgres()
    })
    afterAll(() => {
      server.end()
    })
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'diaries-'))
      database = await server.database()
      await migratePostgresStore(POSTGRES_DIARIES, optionsOf(database.owner))
      store = await open()
    })
    afterEach(async () => {
      for (const one of opened.splice(0)) await one.close()
      rmSync(folder, { recursive: true, force: true })
    })

    const textsUnder = async (ring: KeyRing) =>
      (
        await runSql(database.owner, 'SELECT at, body FROM diaries.day_entries ORDER BY at')
      ).rows.map(({ at, body }: { at: string; body: Buffer }) =>
        createBodySeal(ring).open(bodyOfBytes(body), `day|${at}`),
      )
    const reseal = (ring: KeyRing) =>
      resealPostgresStore(POSTGRES_DIARIES, {
        ...optionsOf(database.as('diaries_reseal')),
        keyRing: ring,
      })

    it('a write reads what others wrote before it, in its group and in other processes', async () => {
      const other = await open()
      const counts = await Promise.all(
        Array.from({ length: 60 }, (_, at) => (at % 2 === 0 ? store : other).write(count('ann'))),
      )
      expect(counts.toSorted((a, b) => a - b)).toEqual(counts.map((_, at) => at + 1))
      expect(await rows('SELECT entries FROM diaries.writers')).toEqual([{ entries: '60' }])
      await store.catchUp()
      const texts = Array.from({ length: 60 }, (_, at) => hashOf(`ann ${at + 1}`))
      expect(store.journals.day.rootHash()).toEqual(rootOf(texts))
    })

    it('one write appends to several journals, or to none of them', async () => {
      await store.write(async (running) => {
        await count('ann', 'day')(running)
        await count('bob', 'night')(running)
      })
      await expect(
        store.write(async (running) => {
          await count('ann', 'day')(running)
          await count('bob', 'night')(running)
          throw new Error('a bug')
        }),
      ).rejects.toThrow('a bug')
      expect([store.journals.day.size, store.journals.night.size]).toEqual([1, 1])
      expect(await rows('SELECT DISTINCT entries FROM diaries.writers')).toEqual([{ entries: '1' }])
      expect(store.checkpoint('night').split('\n').slice(0, 2)).toEqual(['notes.test/night', '1'])
    })

    it('a write that throws after its statements rejects alone; what it sent is not there', async () => {
      const bug = new Error('a bug of this write')
      const results = await Promise.allSettled([
        store.write(count('ann')),
        store.write(async (running) => {
          await count('eve')(running)
          throw bug
        }),
        store.write(count('ann')),
      ])
      expect(results).toEqual([
        { status: 'fulfilled', value: 1 },
        { status: 'rejected', reason: bug },
        { status: 'fulfilled', value: 2 },
      ])
      expect(await rows('SELECT name FROM diaries.writers')).toEqual([{ name: 'ann' }])
    })

    it.each(['waited for', 'sent'] as const)(
      'a statement that is refused, %s, fails its group by the service’s own error',
      async (how) => {
        const refused = 'INSERT INTO diaries.writers VALUES ($1, NULL)'
        const results = await Promise.allSettled([
          store.write(count('ann')),
          store.write(async ({ query, send }) => {
            if (how === 'sent') send(refused, ['x'])
            else await query(refused, ['x'])
          }),
        ])
        for (const result of results)
          expect(result.status === 'rejected' && result.reason).toBeInstanceOf(NotesUnavailable)
        expect(await store.write(count('ann'))).toBe(1)
      },
    )

    it('the service’s last word in a transaction is committed with it; what it throws fails the group', async () => {
      const heard: unknown[] = []
      let isBroken = false
      const hooked = await open({
        beforeCommit: ({ send }: Running, durability: string) => {
          heard.push(durability)
          if (isBroken) throw new Error('a bug')
          send('INSERT INTO diaries.writers VALUES ($1, 1)', [`group ${heard.length}`])
        },
      })
      await Promise.all([hooked.write(count('ann')), hooked.write(count('ann'), 'relaxed')])
      expect(heard).toEqual(['synced'])
      expect(await rows("SELECT name FROM diaries.writers WHERE name LIKE 'group%'")).toEqual([
        { name: 'group 1' },
      ])
      isBroken = true
      await expect(hooked.write(count('ann'))).rejects.toThrow(NotesUnavailable)
      expect(heard).toHaveLength(2)
    })

    it('outside its write a transaction takes nothing', async () => {
      let kept: Running | undefined
      await store.write((running) => {
        kept = running
      })
      expect(() => kept?.journals.day.append(hashOf('late'), [Buffer.from('late')])).toThrow(
        /within a write/,
      )
      await expect(kept?.query('SELECT 1')).rejects.toThrow(/within a write/)
    })

    it('a journal shows what is committed, also while a write waits', async () => {
      const sizes: number[] = []
      await store.write(async ({ journals, query }) => {
        journals.day.append(hashOf('one'), [Buffer.from('one')])
        await query('SELECT 1')
        sizes.push(journals.day.size, store.journals.day.size)
      })
      expect([...sizes, store.journals.day.size]).toEqual([1, 0, 1])
    })

    it('rows of its own are written beside the heads, and go on when the connection is cut', async () => {
      const add = (name: string) =>
        store.writeRows(async (query) => {
          await query('INSERT INTO diaries.writers VALUES ($1, 0) ON CONFLICT DO NOTHING', [name])
          return query<{ readonly name: string }>('SELECT name FROM diaries.writers')
        })
      expect(await add('ann')).toEqual([{ name: 'ann' }])
      await runSql(
        database.owner,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'diaries_app' AND datname = current_database()",
      )
      expect(await add('bob')).toHaveLength(2)
      await expect(
        store.writeRows((query) => query('DELETE FROM diaries.writers')),
      ).rejects.toThrow(/permission denied/)
      expect(await add('eve')).toHaveLength(3)
    })

    it('what a run of rows throws by itself leaves as it is, once; what the server refused is the store’s failure', async () => {
      const [bug, runs] = [new TypeError('a bug of the run'), new Array<string>()]
      const wrong = store.writeRows(async (query) => {
        runs.push('wrong')
        await query('INSERT INTO diaries.writers VALUES ($1, 0)', ['half'])
        throw bug
      })
      await expect(wrong).rejects.toBe(bug)
      const early = store.writeRows(() => {
        runs.push('early')
        throw bug
      })
      await expect(early).rejects.toBe(bug)
      const refused = store.writeRows(async (query) => {
        runs.push('refused')
        await query('DELETE FROM diaries.writers').catch(() => {
          throw bug
        })
      })
      await expect(refused).rejects.toThrow(NotesUnavailable)
      expect(runs).toEqual(['wrong', 'early', 'refused'])
      expect(await store.writeRows((query) => query('SELECT FROM diaries.writers'))).toEqual([])
    })

    it('a reader beside a running store sees what is committed, and appends nothing', async () => {
      await store.write(count('ann'))
      const reader = await openPostgresJournalReader<'day' | 'night'>(
        POSTGRES_DIARIES,
        optionsOf(database.as('diaries_app')),
      )
      opened.push(reader)
      expect(reader.journals.day.size).toBe(1)
      expect(reader.checkpoint('day')).toBe(store.checkpoint('day'))
      expect(await reader.read('SELECT at FROM diaries.day_entries')).toEqual([{ at: 0 }])
    })

    it('a server that lacks what was acknowledged is refused by whoever saw it', async () => {
      await store.write(count('ann'))
      await runSql(
        database.owner,
        "UPDATE diaries.journals SET size = 0, peaks = ''; SET session_replication_role = replica; DELETE FROM diaries.day_entries",
      )
      await expect(store.write(count('ann'))).rejects.toThrow(/went back from 1 entries to 0/)
    })

    describe('C16: sealed bodies', () => {
      it('another key, the same leaves; the key that nothing is sealed under is named', async () => {
        await store.close()
        const [first, both] = [ringOf('k'), ringOf('key', 'k')]
        const sealed = await open({ keyRing: first })
        for (let at = 0; at < 70; at += 1) await writeSealed(sealed, first, `text ${at}`)
        const root = sealed.journals.day.rootHash()
        await expect(reseal(both)).rejects.toThrow(/does not have the key "key": restart it/)
        await sealed.close()
        const again = await open({ keyRing: both })
        expect(await reseal(both)).toEqual({
          activeKeyId: 'key',
          resealed: 70,
          broken: 0,
          retired: ['k'],
          needed: [],
        })
        expect(await textsUnder(ringOf('key'))).toEqual(
          Array.from({ length: 70 }, (_, at) => `text ${at}`),
        )
        expect(await again.journals.day.rootAt(70)).toEqual(root)
        await again.close()
        expect((await open({ keyRing: ringOf('key') })).journals.day.size).toBe(70)
      })

      it('without the key that a body was sealed under, or with another of its name, it does not open', async () => {
        await open({ keyRing: ringOf('k') })
        await expect(open()).rejects.toThrow(/sealed under the key "k"/)
        const other = createKeyRing({
          activeId: 'k',
          keys: [{ id: 'k', key: new Uint8Array(32).fill(99) }],
        })
        await expect(open({ keyRing: other })).rejects.toThrow(/not the one/)
      })

      it('only the role that reseals puts another body into a row, and changes nothing else', async () => {
        await store.write(count('ann'))
        const body = "UPDATE diaries.day_entries SET body = 'x'"
        await expect(runSql(database.as('diaries_app'), body)).rejects.toThrow(/permission denied/)
        await expect(runSql(database.owner, body)).rejects.toThrow(/only grows/)
        for (const sql of [
          "UPDATE diaries.day_entries SET leaf_hash = sha256('x')",
          'UPDATE diaries.day_entries SET at = 7',
          'DELETE FROM diaries.day_entries',
          "INSERT INTO diaries.day_entries VALUES (1, sha256('x'), 'x')",
          'DELETE FROM diaries.writers',
        ]) {
          await expect(runSql(database.as('diaries_reseal'), sql)).rejects.toThrow(
            /permission denied/,
          )
        }
        for (const change of [
          'UPDATE diaries.day_entries SET at = 7',
          'TRUNCATE diaries.day_entries',
        ])
          await expect(runSql(database.owner, change)).rejects.toThrow(/only grows/)
        await runSql(database.as('diaries_reseal'), body)
      })
    })
  },
)
