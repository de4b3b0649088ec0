import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describeAuditTrail } from './audit-trail.contract.ts'
import { openSqliteAuditTrail, readSqliteAuditRows } from './sqlite-audit-trail.ts'

describeAuditTrail('SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'care-audit-'))
  const path = join(folder, 'care.db.sessions')
  return {
    open: (options) => openSqliteAuditTrail({ path, ...options }),
    stored: async () => readSqliteAuditRows(path, { limit: 1_000 }),
    breakRows: async () => {
      const blocker = new DatabaseSync(path)
      blocker.exec('DROP TABLE audit_rows')
      blocker.close()
    },
    end: async () => rmSync(folder, { recursive: true, force: true }),
  }
})
