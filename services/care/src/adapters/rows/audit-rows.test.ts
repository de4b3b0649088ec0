import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openAuditTrail, readAuditRows } from './audit-rows.ts'
import { describeAuditTrail } from './audit-trail.contract.ts'
import { openSqliteSideRows } from './side-rows.ts'

describeAuditTrail('SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'care-audit-'))
  const path = join(folder, 'care.db.sessions')
  return {
    open: (options) => openAuditTrail(openSqliteSideRows(path), options),
    stored: async (page = { limit: 1_000 }) => {
      const rows = openSqliteSideRows(path, 'read')
      return readAuditRows(rows, page).finally(() => rows.end())
    },
    breakRows: async () => {
      const blocker = new DatabaseSync(path)
      blocker.exec('DROP TABLE audit_rows')
      blocker.close()
    },
    end: async () => rmSync(folder, { recursive: true, force: true }),
  }
})
