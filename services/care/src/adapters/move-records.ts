// Moving records between the engines: journals, chains, remembered requests and the keys that they need. Sessions are not moved,
// since clients open new ones; audit rows stay where they were written.
import type { KeyRing } from '@tallystick/hashchain'
import { openSqliteJournalStore, type StoreOwner } from '@tallystick/journal-store'
import {
  type MovedTable,
  moveStore,
  openPostgresJournalStore,
  type PostgresOptions,
  postgresPlace,
  sqlitePlace,
} from '@tallystick/journal-store/postgres'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import { POSTGRES_RECORDS } from './postgres-record-database.ts'
import { RECORDS } from './sqlite-record-database.ts'

const TABLES: readonly MovedTable[] = [
  {
    table: 'chains',
    columns: [
      { name: 'id', type: 'bigint' },
      { name: 'patient', type: 'text' },
      { name: 'domain', type: 'text' },
      { name: 'audience', type: 'text' },
      { name: 'latest_version', type: 'bigint' },
      { name: 'head_hash', type: 'text' },
    ],
  },
  {
    table: 'requests',
    columns: [
      { name: 'mac_hash', type: 'text' },
      { name: 'expires_at_ms', type: 'bigint' },
      { name: 'audience', type: 'text' },
      { name: 'leaf_index', type: 'bigint' },
      { name: 'subscribers', type: 'bigint' },
    ],
  },
  {
    table: 'seal_keys',
    columns: [
      { name: 'key_id', type: 'text' },
      { name: 'proof', type: 'bytea' },
    ],
  },
]

/**
 * Moves everything between a file and a database, one of which is empty; each belongs to this process meanwhile. Returns how
 * many entries each journal has. Rejects with RecordStoreUnavailable.
 */
export async function moveRecords(
  direction: 'to-postgres' | 'to-file',
  of: {
    readonly owner: StoreOwner
    readonly server: Omit<PostgresOptions, 'Unavailable'>
    readonly filePath: string
    readonly keyRing: KeyRing | undefined
  },
): Promise<Readonly<Record<Audience, number>>> {
  const { filePath, keyRing, owner, server } = of
  const file = openSqliteJournalStore<Audience>(RECORDS, {
    ...owner,
    keyRing,
    databasePath: filePath,
  })
  try {
    const database = await openPostgresJournalStore<Audience>(POSTGRES_RECORDS, {
      ...owner,
      ...server,
      keyRing,
      isAlone: true,
      // Beside an empty database lies the checkpoint of the file that is moved.
      checkpoint: direction === 'to-file' ? 'checked' : 'unchecked',
    })
    try {
      const kinds = { sqlite: RECORDS, postgres: POSTGRES_RECORDS }
      const [here, there] = [sqlitePlace(file, kinds), postgresPlace(database, kinds)]
      const places = direction === 'to-file' ? { from: there, to: here } : { from: here, to: there }
      const { Unavailable } = RECORDS
      return await moveStore(places, { names: AUDIENCES, tables: TABLES, Unavailable })
    } finally {
      await database.close()
    }
  } finally {
    await file.close()
  }
}
