import { findColumnDifferences } from '@tallystick/journal-store/column-differences'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { describe, expect, test } from 'vitest'
import { CHAIN_KEYS } from '../keys/chain-keys-file.ts'
import { CHAIN_KEYS_SCHEMA, openChainKeysDatabase } from '../keys/chain-keys-postgres.ts'
import {
  makeRecordDatabase,
  testServer,
  useRecordServer,
} from '../records/postgres-store.fixture.ts'
import { SIDE_ROWS } from '../rows/side-rows.ts'
import { POSTGRES_RECORDS } from './postgres-record-database.ts'
import { RECORDS } from './sqlite-record-database.ts'

describe.skipIf(postgresMissing !== undefined)(
  `both engines${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()

    test('hold the records in the same columns, but for those named here', async () => {
      const database = await makeRecordDatabase()
      try {
        const { owner: ownerUrl } = database
        const { schema } = POSTGRES_RECORDS
        const files = [RECORDS, SIDE_ROWS]
        expect(await findColumnDifferences({ files, ownerUrl, schema })).toEqual([
          // Text in the clear, bytes sealed; on PostgreSQL both are bytes.
          'assistant_versions.body: SQLite ANY, PostgreSQL BLOB',
          // Text that others send is bytes on PostgreSQL, since it may hold a NUL.
          'audit_rows.actor: SQLite TEXT?, PostgreSQL BLOB?',
          // A COMMIT over a network may go unanswered: the row is then found again by it.
          'audit_rows.row_id: SQLite none, PostgreSQL TEXT',
          // Of several processes: who wrote which group, and which place may sign.
          'journal_writers: PostgreSQL alone',
          // Who of them does what only one may.
          'leases: PostgreSQL alone',
          // What of the sessions another has changed.
          'mcp_inbox: PostgreSQL alone',
          // Who listens at which of them.
          'mcp_listened: PostgreSQL alone',
          'mcp_listens: PostgreSQL alone',
          'mcp_sessions.scopes: SQLite TEXT, PostgreSQL BLOB',
          'mcp_sessions.sub: SQLite TEXT, PostgreSQL BLOB',
          'processes: PostgreSQL alone',
          'user_versions.body: SQLite ANY, PostgreSQL BLOB',
          // What any of them found when it replayed chains.
          'verdicts: PostgreSQL alone',
          // What whoever shows the journal to witnesses was told.
          'witness_news: PostgreSQL alone',
        ])
      } finally {
        await database.end()
      }
    })

    test('hold the keys of chains in the same columns', async () => {
      const database = await testServer().database()
      try {
        const { owner: ownerUrl } = database
        await (await openChainKeysDatabase({ url: ownerUrl, pause: async () => undefined })).close()
        const schema = CHAIN_KEYS_SCHEMA
        expect(await findColumnDifferences({ files: [CHAIN_KEYS], ownerUrl, schema })).toEqual([])
      } finally {
        await database.drop()
      }
    })
  },
)
