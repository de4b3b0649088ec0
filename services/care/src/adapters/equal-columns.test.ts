import { findColumnDifferences } from '@tallystick/journal-store/column-differences'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { describe, expect, test } from 'vitest'
import { POSTGRES_RECORDS } from './postgres-record-database.ts'
import { makeRecordDatabase, useRecordServer } from './postgres-store.fixture.ts'
import { openSqliteSideRows } from './side-rows.ts'
import { makeStoreFolder } from './sqlite-store.fixture.ts'

describe.skipIf(postgresMissing !== undefined)(
  `both engines${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()

    test('hold the records in the same columns, but for those named here', async () => {
      const folder = makeStoreFolder()
      const database = await makeRecordDatabase()
      try {
        await (await folder.open()).close()
        const { databasePath } = folder
        const sidePath = `${databasePath}.side`
        await openSqliteSideRows(sidePath).end()
        const paths = [databasePath, sidePath]
        const { owner: ownerUrl } = database
        const { schema } = POSTGRES_RECORDS
        expect(await findColumnDifferences({ paths, ownerUrl, schema })).toEqual([
          // Text in the clear, bytes sealed; on PostgreSQL both are bytes.
          'assistant_versions.body: SQLite ANY, PostgreSQL BLOB',
          // Text that others send is bytes on PostgreSQL, since it may hold a NUL.
          'audit_rows.actor: SQLite TEXT?, PostgreSQL BLOB?',
          // A COMMIT over a network may go unanswered: the row is then found again by it.
          'audit_rows.row_id: SQLite none, PostgreSQL TEXT',
          // Of several processes: who wrote which group, and which place may sign.
          'journal_writers: PostgreSQL alone',
          // The file beside the records has its own version.
          'mcp_schema: SQLite alone',
          'mcp_sessions.scopes: SQLite TEXT, PostgreSQL BLOB',
          'mcp_sessions.sub: SQLite TEXT, PostgreSQL BLOB',
          'meta: PostgreSQL alone',
          'places: PostgreSQL alone',
          'user_versions.body: SQLite ANY, PostgreSQL BLOB',
        ])
      } finally {
        await database.end()
        folder.remove()
      }
    })
  },
)
