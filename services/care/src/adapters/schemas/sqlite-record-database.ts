// The file that holds the records (sqlite-records.schema.sql): its journals, and what its failures become. A version is one row
// of its audience's table, and that table in order of `at` is the journal: audiences are separate down to the pages. A row's
// body is the journal entry; nothing else stores the record's content.
import {
  besideDatabase,
  createGuards,
  readSchema,
  type SqliteKind,
} from '@tallystick/journal-store'
import { RecordStoreUnavailable, StoreBehind } from '../../domain/record-store.ts'
import type { Audience } from '../../wire/audience.ts'

/** Where the keys of chains are, unless CHAIN_KEYS_PATH says otherwise; in memory too. */
export const chainKeysPath = (databasePath: string): string =>
  besideDatabase(databasePath, '.chain-keys') ?? databasePath

/** The table of an audience's versions. */
export const VERSION_TABLES: Readonly<Record<Audience, string>> = {
  user: 'user_versions',
  assistant: 'assistant_versions',
}

/** Sessions, frames and audit rows of a store: in a second file, or in memory too. */
export const sessionsPath = (databasePath: string): string =>
  besideDatabase(databasePath, '.sessions') ?? databasePath

const journalTable = (audience: Audience) => ({
  noun: `the ${audience} journal`,
  originEnding: `/${audience}`,
  fileEnding: `.${audience}-checkpoint`,
  table: VERSION_TABLES[audience],
  columns: ['chain', 'version', 'written_at', 'body', 'place', 'changes_list'],
})

/** The store of one process: WAL, synchronous FULL (C14, C16, C17). */
export const RECORDS = {
  applicationId: 0x54616c79, // Taly
  isAlone: true,
  // A page of a list reads two hundred pages, all over a large file.
  cacheKib: 16_384,
  get migrations() {
    return [
      readSchema(new URL('./sqlite-records.schema.sql', import.meta.url), RecordStoreUnavailable),
    ]
  },
  // An operator's verb writes in transactions of a few milliseconds while the service runs.
  busyTimeoutMs: 2_000,
  isCheckedAtOpening: true,
  Unavailable: RecordStoreUnavailable,
  Behind: StoreBehind,
  journals: { user: journalTable('user'), assistant: journalTable('assistant') },
  // More would block the event loop for over 20 ms.
  writesPerCommitMax: 512,
  seal: {
    proofText: 'tallystick care seal key',
    ringName: 'SEAL_KEYS',
    keysPlace: 'the place of chain keys (CHAIN_KEYS_URL or CHAIN_KEYS_PATH)',
  },
  acceptCommand: 'care accept-backup',
} as const satisfies SqliteKind<Audience>

export const { guarded } = createGuards(RecordStoreUnavailable)
