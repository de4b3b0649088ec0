// What becomes of writes when a process is stopped while it holds the heads, and when the primary is lost.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pauseMs } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { computeRoot, leafHash } from '@tallystick/hashchain'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { notesOptions, POSTGRES_NOTES, type PostgresNotes } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { PostgresDoor } from './postgres-door.ts'
import {
  postgresMissing,
  runSql,
  startPostgres,
  startPostgresPair,
} from './postgres-server.fixture.ts'
import { openPostgresStore } from './postgres-store.ts'
import { migratePostgresStore } from './postgres-store-kind.ts'
import { appendText } from './store.contract.ts'
import { openTornCommits } from './torn-commits.fixture.ts'
import { startWriters } from './writers.fixture.ts'

const WRITER = fileURLToPath(new URL('./notes-postgres.fixture.ts', import.meta.url))
const isLong = process.env['TALLYSTICK_LONG'] === '1'
const STOPS = isLong ? 20 : 3
const FAILOVERS = isLong ? 5 : 1

let folder: string
const opened: PostgresNotes[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'failover-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const open = async (url: string, name = 'notes', over: object = {}) => {
  const options = { ...notesOptions(url, join(folder, name)), findMs: 2_000, ...over }
  const store = await openPostgresStore(POSTGRES_NOTES, options)
  opened.push(store)
  return store
}
const closeAll = async (): Promise<void> => {
  for (const store of opened.splice(0)) await store.close()
}
const readTexts = async (store: PostgresNotes): Promise<readonly string[]> =>
  (await store.read<{ readonly text: string }>('SELECT text FROM notes.notes ORDER BY at')).map(
    ({ text }) => text,
  )
const rootOfTexts = (texts: readonly string[]): Buffer =>
  Buffer.from(computeRoot(texts.map((text) => leafHash(Buffer.from(text)))))

describe.skipIf(postgresMissing !== undefined || process.env['DATABASE_URL'] !== undefined)(
  `PostgreSQL that fails${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    describe('a process that is stopped, or slow', () => {
      let server: ReturnType<typeof startPostgres>
      let url: string
      let owner: string
      beforeAll(() => {
        server = startPostgres()
      })
      afterAll(() => server.end())
      beforeEach(async () => {
        const database = await server.database()
        owner = database.owner
        url = database.as('notes_app')
        await migratePostgresStore(POSTGRES_NOTES, notesOptions(owner, join(folder, 'notes')))
      })
      afterEach(closeAll)

      it('who holds the heads and says nothing more loses them after a second, and its transaction', async () => {
        const store = await open(url)
        const named = { ...notesOptions(url, ':memory:'), Unavailable: NotesUnavailable }
        const holder = await new PostgresDoor(named).find()
        await holder.run('BEGIN; SELECT size FROM notes.take_heads()')
        expect(await appendText(store, 'others go on')).toBe(0)
        await expect(holder.commit()).rejects.toThrow(/connection|idle-in-transaction/i)
        expect(await readTexts(store)).toEqual(['others go on'])
        await holder.end()
      })

      it('who was cut off at work has four times as long for it in the next attempt, up to 16 seconds', async () => {
        const store = await open(url)
        const limits: unknown[] = []
        await store.write(async ({ rows }) => {
          const [own] = await rows<readonly [idle: string, pid: number]>(
            "SELECT current_setting('idle_in_transaction_session_timeout'), pg_backend_pid()",
          )
          limits.push(own?.[0])
          if (limits.length < 4)
            await runSql(owner, `SELECT pg_terminate_backend(${String(own?.[1])})`)
        })
        expect(limits).toEqual(['1s', '4s', '16s', '16s'])
      })

      it('a look takes nothing of its own process’s commit for another’s, before that is answered', async () => {
        let pauses = 0
        const pause = (): Promise<void> => {
          pauses += 1
          return new Promise(() => undefined)
        }
        const torn = await openTornCommits({
          url,
          socketFolder: server.socketFolder ?? '',
          folder,
        })
        const store = await open(torn.url, 'notes', { pause })
        const heard: number[] = []
        store.onGrown(() => heard.push(store.journals.notes.size))
        torn.tearNext('late')
        const mine = appendText(store, 'mine')
        const stored = async () => (await runSql(owner, 'SELECT text FROM notes.notes')).rowCount
        await expect.poll(stored).toBe(1)
        const before = pauses
        await runSql(owner, "SELECT pg_notify('notes', 'another')")
        // The next pause begins when the look is over.
        await expect.poll(() => pauses).toBeGreaterThan(before)
        const early = [...heard]
        torn.reopen()
        expect([early, await mine, heard]).toEqual([[], 0, [1]])
        await closeAll()
        torn.end()
      })

      it(`SIGSTOP at ${STOPS} random moments of a writer: others write on, it goes on itself, nothing is lost or twice`, async () => {
        const child = spawn(process.execPath, [WRITER, url, join(folder, 'child')], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        let printed = ''
        child.stdout.on('data', (chunk: Buffer) => {
          printed += chunk.toString()
        })
        const store = await open(url)
        for (let stops = 0; stops < STOPS; stops += 1) {
          const before = printed.length
          while (printed.length === before) await once(child.stdout, 'data')
          await pauseMs(Math.random() * 20)
          child.kill('SIGSTOP')
          await appendText(store, `meanwhile ${stops}`)
          child.kill('SIGCONT')
          const [size, acknowledged] = [store.journals.notes.size, printed.length]
          while (printed.length === acknowledged) await once(child.stdout, 'data')
          expect(store.journals.notes.size).toBeGreaterThanOrEqual(size)
        }
        child.kill('SIGKILL')
        await once(child, 'close')
        await appendText(store, 'last')
        const texts = await readTexts(store)
        for (const line of printed.split('\n').slice(0, -1)) {
          const [at, text] = JSON.parse(line) as [number, string]
          expect(texts[at]).toBe(text)
        }
        expect(new Set(texts).size).toBe(texts.length)
        expect(Buffer.from(store.journals.notes.rootHash())).toEqual(rootOfTexts(texts))
      })
    })

    describe('a primary that is lost', () => {
      for (let round = 1; round <= FAILOVERS; round += 1)
        it(`under 16 writers of two stores, round ${round}: 0 lost, 0 twice; an older timeline is refused`, async () => {
          const pair = await startPostgresPair()
          try {
            const database = await pair.database()
            await migratePostgresStore(POSTGRES_NOTES, notesOptions(database.owner, ''))
            const url = pair.both(database.as('notes_app'))
            const stores = [await open(url, 'one'), await open(url, 'other')] as const
            const { acknowledged, end } = startWriters(16, stores)
            await expect.poll(() => acknowledged.length).toBeGreaterThan(100)
            pair.failOver()
            const survived = acknowledged.length
            await expect.poll(() => acknowledged.length).toBeGreaterThan(survived + 100)
            await end()

            const texts = await readTexts(stores[0])
            const stored = new Set(texts)
            expect(acknowledged.filter((text) => !stored.has(text))).toEqual([])
            expect(stored.size).toBe(texts.length)
            await stores[0].catchUp()
            expect(Buffer.from(stores[0].journals.notes.rootHash())).toEqual(rootOfTexts(texts))

            await pair.goBack()
            await expect(appendText(stores[0], 'on the old timeline')).rejects.toThrow(
              NotesUnavailable,
            )
            await expect(runSql(url.replace(/,[^/]*/, ''), 'SELECT 1')).resolves.toBeDefined()
            await closeAll()
            await expect(open(url, 'one')).rejects.toThrow(/on timeline 1, and 2 was seen/)
            // One that knows no timeline knows what it has signed.
            rmSync(join(folder, 'one.timeline'))
            await expect(open(url, 'one')).rejects.toThrow(/counts \d+ entries, \d+ of them/)
          } finally {
            await closeAll()
            pair.end()
          }
        })
    })
  },
)
