/** The store on PostgreSQL: postgres-ledger.schema.sql. */
import { readSchema } from '@tallystick/journal-store'
import type { PostgresStoreKind } from '@tallystick/journal-store/postgres'
import { GradingStoreBehind, GradingStoreUnavailable } from '../domain/closes/grading-store.ts'

export const POSTGRES_LEDGER = {
  schema: 'grading',
  appRole: 'grading_app',
  journals: {
    ledger: {
      noun: 'the ledger',
      originEnding: '',
      fileEnding: '.checkpoint',
      table: 'entries',
      columns: [
        { name: 'event', type: 'bigint' },
        { name: 'text', type: 'bytea' },
      ],
    },
  },
  get migrations() {
    return [
      readSchema(new URL('./postgres-ledger.schema.sql', import.meta.url), GradingStoreUnavailable),
    ]
  },
  // They hold the head's lock, and a paid pick waits for it.
  writesPerCommitMax: 256,
  Unavailable: GradingStoreUnavailable,
  Behind: GradingStoreBehind,
  acceptCommand: 'grading accept-backup',
} as const satisfies PostgresStoreKind<'ledger'>
