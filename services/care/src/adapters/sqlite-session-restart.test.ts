import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { describeRestart } from '../mcp/session-restart.contract.ts'
import { openSqliteSessionStore } from './sqlite-session-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'care-restart-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

describeRestart('kept in SQLite', () => {
  files += 1
  return openSqliteSessionStore({ path: join(folder, `sessions-${files}`) })
})
