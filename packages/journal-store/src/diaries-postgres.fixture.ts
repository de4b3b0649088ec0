// A store of two sealed diaries on PostgreSQL, for the tests, with what opens it, writes to it and looks behind it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { journalSchema, notesOptions } from './notes-postgres.fixture.ts'
import { type NoteCounts, NotesUnavailable } from './notes-store.fixture.ts'
import { type PostgresServer, runSql, startPostgres } from './postgres-server.fixture.ts'
import { openPostgresStore, type PostgresStore } from './postgres-store.ts'
import {
  migratePostgresStore,
  type PostgresJournalTable,
  type PostgresStoreKind,
} from './postgres-store-kind.ts'

type Diaries = PostgresStore<'day' | 'night', NoteCounts, string>

/** Two sealed journals, and a table of the service's own whose rows are written with them. */
export const POSTGRES_DIARIES = {
  schema: 'diaries',
  appRole: 'diaries_app',
  journals: { day: diary('day'), night: diary('night') },
  migrations: [
    `${diarySchema('day')}
     ${diarySchema('night')}
     CREATE TABLE seal_keys (key_id text PRIMARY KEY, proof bytea NOT NULL);
     CREATE TABLE writers (name text PRIMARY KEY, entries bigint NOT NULL);
     GRANT INSERT ON seal_keys TO diaries_app;
     GRANT INSERT, UPDATE ON writers TO diaries_app;`,
  ],
  writesPerCommitMax: 512,
  Unavailable: NotesUnavailable,
  acceptCommand: 'diaries accept-backup',
  seal: { proofText: 'a diary', ringName: 'DIARY_KEYS', keysPlace: 'the drawer' },
} as const satisfies PostgresStoreKind<'day' | 'night'>

function diarySchema(name: string): string {
  return journalSchema(name, { table: `${name}_entries`, column: 'body', type: 'bytea' })
}

function diary(name: string): PostgresJournalTable {
  return {
    noun: `the journal of the ${name}`,
    originEnding: `/${name}`,
    fileEnding: `.${name}-checkpoint`,
    table: `${name}_entries`,
    columns: [{ name: 'body', type: 'bytea' }],
  }
}

/** Registers the hooks of a file: a server for the file, and for each test a database on it with an open store. */
export function useDiaries() {
  let server: PostgresServer
  let database: Awaited<ReturnType<PostgresServer['database']>>
  let folder: string
  let store: Diaries
  const opened: { close(): Promise<void> }[] = []
  const makeOptions = (url: string) => notesOptions(url, join(folder, 'diaries'))
  const open = async (over: object = {}): Promise<Diaries> => {
    const made = await openPostgresStore(POSTGRES_DIARIES, {
      ...makeOptions(database.as('diaries_app')),
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
    await migratePostgresStore(POSTGRES_DIARIES, makeOptions(database.owner))
    store = await open()
  })
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    /** The service's own store, open since the test began. */
    store: () => store,
    open,
    /** Options to open a store or reader of this database as that role. */
    optionsAs: (role: string) => makeOptions(database.as(role)),
    /** Runs SQL as the database's owner, or as that role. */
    sql: async <Row>(text: string, role?: string): Promise<readonly Row[]> =>
      (await runSql(role === undefined ? database.owner : database.as(role), text)).rows,
    /** Closes it after the test, with the others. */
    keep: <Store extends { close(): Promise<void> }>(made: Store): Store => {
      opened.push(made)
      return made
    },
  }
}
