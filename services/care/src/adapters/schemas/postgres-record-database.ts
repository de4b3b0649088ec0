// The records on PostgreSQL: postgres-records.schema.sql, and what moves between the engines.
import { moveImports, readSchema } from '@tallystick/journal-store'
import type {
  PostgresJournalTable,
  PostgresStoreKind,
  StoreMove,
} from '@tallystick/journal-store/postgres'
import type { Audience } from '../../wire/audience.ts'
import { RECORDS } from './sqlite-record-database.ts'

const journalTable = (audience: Audience): PostgresJournalTable => {
  const { fileEnding, noun, originEnding, table } = RECORDS.journals[audience]
  return {
    noun,
    originEnding,
    fileEnding,
    table,
    columns: [
      { name: 'chain', type: 'bigint' },
      { name: 'version', type: 'bigint' },
      { name: 'written_at', type: 'text' },
      { name: 'body', type: 'bytea' },
      { name: 'place', type: 'bigint' },
      { name: 'changes_list', type: 'bigint' },
    ],
  }
}

/** The store of processes on one database (C14, C16, C17). */
export const POSTGRES_RECORDS = {
  schema: 'care',
  appRole: 'care_app',
  journals: { user: journalTable('user'), assistant: journalTable('assistant') },
  get migrations() {
    return [
      readSchema(new URL('./postgres-records.schema.sql', import.meta.url), RECORDS.Unavailable),
    ]
  },
  writesPerCommitMax: RECORDS.writesPerCommitMax,
  Unavailable: RECORDS.Unavailable,
  Behind: RECORDS.Behind,
  acceptCommand: RECORDS.acceptCommand,
  seal: RECORDS.seal,
} as const satisfies PostgresStoreKind<Audience>

const IMPORTS = moveImports(POSTGRES_RECORDS.schema)

/**
 * What moves between the engines. Sessions do not, since clients open new ones; audit rows stay where they were written.
 */
export const RECORDS_MOVE: StoreMove<Audience> = {
  sqlite: RECORDS,
  postgres: POSTGRES_RECORDS,
  tables: [{ table: 'chains' }, { table: 'requests' }, { table: 'erasures' }, { table: 'frees' }],
  toPostgres: [IMPORTS.toPostgres],
  toSqlite: [IMPORTS.toSqlite],
}
