import { rootOf } from '@tallystick/hashchain'
import { describe, expect, it } from 'vitest'
import {
  count,
  hashOf,
  POSTGRES_DIARIES,
  type Running,
  useDiaries,
} from './diaries-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { openPostgresJournalReader } from './postgres-journal-store.ts'
import { postgresMissing } from './postgres-server.fixture.ts'

describe.skipIf(postgresMissing !== undefined)(
  `writes on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    const { keep, open, optionsAs, sql, store } = useDiaries()

    it('a write reads what others wrote before it, in its group and in other processes', async () => {
      const other = await open()
      const counts = await Promise.all(
        Array.from({ length: 60 }, (_, at) => (at % 2 === 0 ? store() : other).write(count('ann'))),
      )
      expect(counts.toSorted((a, b) => a - b)).toEqual(counts.map((_, at) => at + 1))
      expect(await sql('SELECT entries FROM diaries.writers')).toEqual([{ entries: '60' }])
      await store().catchUp()
      const texts = Array.from({ length: 60 }, (_, at) => hashOf(`ann ${at + 1}`))
      expect(store().journals.day.rootHash()).toEqual(rootOf(texts))
    })

    it('one write appends to several journals, or to none of them', async () => {
      await store().write(async (running) => {
        await count('ann', 'day')(running)
        await count('bob', 'night')(running)
      })
      await expect(
        store().write(async (running) => {
          await count('ann', 'day')(running)
          await count('bob', 'night')(running)
          throw new Error('a bug')
        }),
      ).rejects.toThrow('a bug')
      expect([store().journals.day.size, store().journals.night.size]).toEqual([1, 1])
      expect(await sql('SELECT DISTINCT entries FROM diaries.writers')).toEqual([{ entries: '1' }])
      expect(store().checkpoint('night').split('\n').slice(0, 2)).toEqual(['notes.test/night', '1'])
    })

    it('a write that throws after its statements rejects alone; what it sent is not there', async () => {
      const bug = new Error('a bug of this write')
      const results = await Promise.allSettled([
        store().write(count('ann')),
        store().write(async (running) => {
          await count('eve')(running)
          throw bug
        }),
        store().write(count('ann')),
      ])
      expect(results).toEqual([
        { status: 'fulfilled', value: 1 },
        { status: 'rejected', reason: bug },
        { status: 'fulfilled', value: 2 },
      ])
      expect(await sql('SELECT name FROM diaries.writers')).toEqual([{ name: 'ann' }])
    })

    it.each(['waited for', 'sent'] as const)(
      'a statement that is refused, %s, fails its group by the service’s own error',
      async (how) => {
        const refused = 'INSERT INTO diaries.writers VALUES ($1, NULL)'
        const results = await Promise.allSettled([
          store().write(count('ann')),
          store().write(async ({ query, send }) => {
            if (how === 'sent') send(refused, ['x'])
            else await query(refused, ['x'])
          }),
        ])
        for (const result of results)
          expect(result.status === 'rejected' && result.reason).toBeInstanceOf(NotesUnavailable)
        expect(await store().write(count('ann'))).toBe(1)
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
      expect(await sql("SELECT name FROM diaries.writers WHERE name LIKE 'group%'")).toEqual([
        { name: 'group 1' },
      ])
      isBroken = true
      await expect(hooked.write(count('ann'))).rejects.toThrow(NotesUnavailable)
      expect(heard).toHaveLength(2)
    })

    it('S12: a listener that throws behind a COMMIT makes no group run again; its error is told, and others hear', async () => {
      const [bug, problems] = [new Error('a bug of the listener'), new Array<unknown>()]
      const heard = await open({ onProblem: (error: unknown) => problems.push(error) })
      let calls = 0
      heard.onGrown(() => {
        throw bug
      })
      heard.onGrown(() => (calls += 1))
      expect(await heard.write(count('ann'))).toBe(1)
      expect(await sql('SELECT entries FROM diaries.writers')).toEqual([{ entries: '1' }])
      expect(heard.journals.day.size).toBe(1)
      await store().write(count('ann'))
      await heard.catchUp()
      expect(heard.journals.day.size).toBe(2)
      expect([problems, calls]).toEqual([[bug, bug], 2])
    })

    it('outside its write a transaction takes nothing', async () => {
      let kept: Running | undefined
      await store().write((running) => {
        kept = running
      })
      expect(() => kept?.journals.day.append(hashOf('late'), [Buffer.from('late')])).toThrow(
        /within a write/,
      )
      await expect(kept?.query('SELECT 1')).rejects.toThrow(/within a write/)
    })

    it('a journal shows what is committed, also while a write waits', async () => {
      const sizes: number[] = []
      await store().write(async ({ journals, query }) => {
        journals.day.append(hashOf('one'), [Buffer.from('one')])
        await query('SELECT 1')
        sizes.push(journals.day.size, store().journals.day.size)
      })
      expect([...sizes, store().journals.day.size]).toEqual([1, 0, 1])
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

    it('a reader beside a running store sees what is committed, and appends nothing', async () => {
      await store().write(count('ann'))
      const reader = keep(
        await openPostgresJournalReader<'day' | 'night'>(
          POSTGRES_DIARIES,
          optionsAs('diaries_app'),
        ),
      )
      expect(reader.journals.day.size).toBe(1)
      expect(reader.checkpoint('day')).toBe(store().checkpoint('day'))
      expect(await reader.read('SELECT at FROM diaries.day_entries')).toEqual([{ at: 0 }])
    })

    it('a server that lacks what was acknowledged is refused by whoever saw it', async () => {
      await store().write(count('ann'))
      await sql(
        "UPDATE diaries.journals SET size = 0, peaks = ''; SET session_replication_role = replica; DELETE FROM diaries.day_entries",
      )
      await expect(store().write(count('ann'))).rejects.toThrow(/went back from 1 entries to 0/)
    })
  },
)
