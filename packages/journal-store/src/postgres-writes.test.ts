import { computeRoot } from '@tallystick/hashchain'
import { describe, expect, it, vi } from 'vitest'
import { POSTGRES_DIARIES, useDiaries } from './diaries-postgres.fixture.ts'
import { countNote as count, NotesUnavailable } from './notes-store.fixture.ts'
import { PostgresLine } from './postgres-line.ts'
import { postgresMissing } from './postgres-server.fixture.ts'
import { openPostgresStoreReader } from './postgres-store.ts'
import { hashText } from './store.contract.ts'

describe.skipIf(postgresMissing !== undefined)(
  `writes on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    const { keep, open, optionsAs, sql, store } = useDiaries()
    const write = (name: string, journal: 'day' | 'night' = 'day', on = store()) =>
      on.write(count(name, journal), name)

    it('a write reads what others wrote before it, in its group and in other processes', async () => {
      const other = await open()
      const counts = await Promise.all(
        Array.from({ length: 60 }, (_, at) => write('ann', 'day', at % 2 === 0 ? store() : other)),
      )
      expect(counts.toSorted((a, b) => a - b)).toEqual(counts.map((_, at) => at + 1))
      expect(await sql('SELECT entries FROM diaries.writers')).toEqual([{ entries: '60' }])
      await store().catchUp()
      const texts = Array.from({ length: 60 }, (_, at) => hashText(`ann ${at + 1}`))
      expect(store().journals.day.rootHash()).toEqual(computeRoot(texts))
    })

    it('one write appends to several journals, or to none of them', async () => {
      await store().write(async (tx) => {
        await count<'day' | 'night'>('ann', 'day')(tx)
        await count<'day' | 'night'>('bob', 'night')(tx)
      })
      await expect(
        store().write(async (tx) => {
          await count<'day' | 'night'>('ann', 'day')(tx)
          await count<'day' | 'night'>('bob', 'night')(tx)
          throw new Error('a bug')
        }),
      ).rejects.toThrow('a bug')
      expect([store().journals.day.size, store().journals.night.size]).toEqual([1, 1])
      expect(await sql('SELECT DISTINCT entries FROM diaries.writers')).toEqual([{ entries: '1' }])
      expect(store().journals.night.checkpoint().split('\n').slice(0, 2)).toEqual([
        'notes.test/night',
        '1',
      ])
    })

    it('what the service’s memory throws fails its group by the service’s own error, and the next one goes on', async () => {
      let isBroken = true
      const hooked = await open({
        memory: {
          read: () => {
            if (isBroken) throw new TypeError('a bug')
          },
          save: () => [],
        },
      })
      await expect(hooked.write(() => 1)).rejects.toThrow(NotesUnavailable)
      isBroken = false
      expect(await hooked.write(() => 1)).toBe(1)
    })

    it('rows of its own are written beside the heads, and go on when the connection is cut', async () => {
      const add = (name: string) =>
        store().writeRows(async (query) => {
          await query('INSERT INTO diaries.writers VALUES ($1, 0) ON CONFLICT DO NOTHING', [name])
          return query<{ readonly name: string }>('SELECT name FROM diaries.writers')
        })
      expect(await add('ann')).toEqual([{ name: 'ann' }])
      await sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'diaries_app' AND datname = current_database()",
      )
      expect(await add('bob')).toHaveLength(2)
      await expect(
        store().writeRows((query) => query('DELETE FROM diaries.writers')),
      ).rejects.toThrow(/permission denied/)
      expect(await add('eve')).toHaveLength(3)
    })

    it('what a run of rows throws by itself leaves as it is, once; what the server refused is the store’s failure', async () => {
      const [bug, runs] = [new TypeError('a bug of the run'), new Array<string>()]
      const wrong = store().writeRows(async (query) => {
        runs.push('wrong')
        await query('INSERT INTO diaries.writers VALUES ($1, 0)', ['half'])
        throw bug
      })
      await expect(wrong).rejects.toBe(bug)
      const early = store().writeRows(() => {
        runs.push('early')
        throw bug
      })
      await expect(early).rejects.toBe(bug)
      const refused = store().writeRows(async (query) => {
        runs.push('refused')
        await query('DELETE FROM diaries.writers').catch(() => {
          throw bug
        })
      })
      await expect(refused).rejects.toThrow(NotesUnavailable)
      expect(runs).toEqual(['wrong', 'early', 'refused'])
      expect(await store().writeRows((query) => query('SELECT FROM diaries.writers'))).toEqual([])
    })

    it('S12: of a transaction whose BEGIN the server refuses nothing is stored: it does not run', async () => {
      const refusal: unknown = await sql('SELECT 1/0').catch((error: unknown) => error)
      vi.spyOn(PostgresLine.prototype, 'run').mockRejectedValueOnce(refusal)
      await expect(
        store().writeRows((query) => query("INSERT INTO diaries.writers VALUES ('ann', 0)")),
      ).rejects.toThrow(/cannot be used: division by zero/)
      vi.restoreAllMocks()
      expect(await sql('SELECT FROM diaries.writers')).toEqual([])
    })

    it('a reader beside a running store sees what is committed, and appends nothing', async () => {
      await write('ann')
      const reader = keep(await openPostgresStoreReader(POSTGRES_DIARIES, optionsAs('diaries_app')))
      expect(reader.journals.day.size).toBe(1)
      expect(reader.journals.day.checkpoint()).toBe(store().journals.day.checkpoint())
      expect(await reader.read('SELECT at FROM diaries.day_entries')).toEqual([{ at: 0 }])
    })

    it('a server that lacks what was acknowledged is refused by whoever saw it', async () => {
      await write('ann')
      await sql(
        "UPDATE diaries.journals SET size = 0, peaks = ''; SET session_replication_role = replica; DELETE FROM diaries.day_entries",
      )
      await expect(write('ann')).rejects.toThrow(/went back from 1 entries to 0/)
    })
  },
)
