// A store of two sealed diaries on PostgreSQL, for the tests, with what opens it, writes to it and looks behind it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leafHash } from '@tallystick/hashchain'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { notesOptions } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import type { PostgresTransaction } from './postgres-group.ts'
import { openPostgresJournalStore, type PostgresJournalStore } from './postgres-journal-store.ts'
import { type PostgresServer, runSql, startPostgres } from './postgres-server.fixture.ts'
import {
  migratePostgresStore,
  type PostgresJournalTable,
  type PostgresStoreKind,
} from './postgres-store-kind.ts'

type Diaries = PostgresJournalStore<'day' | 'night'>
export type Running = PostgresTransaction<'day' | 'night'>

/** Two sealed journals, and a table of the service's own whose rows are written with them. */
export const POSTGRES_DIARIES = {
  schema: 'diaries',
  appRole: 'diaries_app',
  journals: { day: diary('day'), night: diary('night') },
  migrations: [
    `CREATE TABLE diaries.writers (name text PRIMARY KEY, entries bigint NOT NULL);
     GRANT INSERT, UPDATE ON diaries.writers TO diaries_app;`,
  ],
  writesPerCommitMax: 512,
  Unavailable: NotesUnavailable,
  acceptCommand: 'diaries accept-backup',
  seal: { proofText: 'a diary', ringName: 'DIARY_KEYS', keysPlace: 'the drawer' },
} as const satisfies PostgresStoreKind<'day' | 'night'>

function diary(name: string): PostgresJournalTable {
  return {
    noun: `the journal of the ${name}`,
    originEnding: `/${name}`,
    fileEnding: `.${name}-checkpoint`,
    table: `${name}_entries`,
    columns: [{ name: 'body', type: 'bytea' }],
  }
}

export const hashOf = (text: string): Uint8Array => leafHash(Buffer.from(text))

/** Counts a writer's entries. It reads under the lock, and its row and its entry share a transaction. */
export const count =
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

/** Registers the hooks of a file: a server for the file, and for each test a database on it with an open store. */
export function useDiaries() {
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
  return {
    /** The service's own store, open since the test began. */
    store: () => store,
    open,
    /** Options to open a store or reader of this database as that role. */
    optionsAs: (role: string) => optionsOf(database.as(role)),
    /** Runs SQL as the database's owner, or as that role. */
    sql: async <Row>(text: string, role?: string): Promise<readonly Row[]> =>
      (await runSql(role === undefined ? database.owner : database.as(role), text)).rows,
    /** Closes it after the test, with the others. */
    keep: <Store extends { close(): Promise<void> }>(one: Store): Store => {
      opened.push(one)
      return one
    },
  }
}
