import { findColumnDifferences } from '@tallystick/journal-store/column-differences'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startLedgerServer } from '../testing/postgres-ledger.fixture.ts'
import { POSTGRES_LEDGER } from './postgres-schema.ts'
import { LEDGER, RESERVATIONS } from './sqlite-database.ts'

describe.skipIf(postgresMissing !== undefined)(
  `both engines${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let ledgers: ReturnType<typeof startLedgerServer>
    beforeAll(() => {
      ledgers = startLedgerServer()
    })
    afterAll(async () => {
      await ledgers.endLedgers()
      ledgers.end()
    })

    test('hold the ledger in the same columns, but for those named here', async () => {
      const { ownerUrl } = await ledgers.ledger()
      const files = [LEDGER, RESERVATIONS]
      const { schema } = POSTGRES_LEDGER
      expect(await findColumnDifferences({ files, ownerUrl, schema })).toEqual([
        // Bytes, so that no collation touches what is hashed.
        'entries.text: SQLite TEXT, PostgreSQL BLOB',
        // SQLite's is the virtual table event_words.
        'events.search: SQLite none, PostgreSQL tsvector',
        // Of several processes: who wrote which group.
        'journal_writers: PostgreSQL alone',
        // Of several processes: who does for all what one must do, and who lives.
        'leases: PostgreSQL alone',
        'processes: PostgreSQL alone',
        // The order of one payer's, which a file's rowid gives.
        'reservations.serial: SQLite none, PostgreSQL INTEGER',
      ])
    })
  },
)
