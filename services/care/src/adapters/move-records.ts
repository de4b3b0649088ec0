// Moving records between the engines: journals, chains, remembered requests and the keys that they need. Sessions are not moved,
// since clients open new ones; audit rows stay where they were written.
import type { StoreMove } from '@tallystick/journal-store/postgres'
import type { Audience } from '../wire/records.ts'
import { POSTGRES_RECORDS } from './postgres-record-database.ts'
import { RECORDS } from './sqlite-record-database.ts'

export const RECORDS_MOVE: StoreMove<Audience> = {
  sqlite: RECORDS,
  postgres: POSTGRES_RECORDS,
  tables: [{ table: 'chains' }, { table: 'requests' }],
}
