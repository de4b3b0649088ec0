import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import { describeSessionStore } from '../../domain/session-store.contract.ts'
import type { SessionChange, SessionNote, SessionStore } from '../../domain/session-store.ts'
import { openAuditTrail, readAuditRows } from './audit-rows.ts'
import { openSessionStore } from './session-commits.ts'
import { openSqliteSideRows } from './side-rows.ts'

const inFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'care-sessions-'))
  return { path: join(folder, 'sessions'), end: () => rmSync(folder, { recursive: true }) }
}

const clock = manualClock(1_780_300_800_000)

describeSessionStore('SQLite', async () => {
  const { path, end } = inFolder()
  const opened: SessionStore[] = [openSessionStore(openSqliteSideRows(path), { clock })]
  return {
    store: opened[0] as SessionStore,
    async reopen() {
      // The first connection stays open and is never closed before the read: a kill closes nothing.
      const again = openSessionStore(openSqliteSideRows(path), { clock })
      opened.push(again)
      return again
    },
    async end() {
      for (const store of opened) await store.close()
      end()
    },
  }
})

const openedSession = (number: number): SessionChange => ({
  kind: 'opened',
  session: number,
  opened: {
    number,
    id: `id-${number}`,
    sub: 'host',
    scopes: ['care.read.user'],
    carried: { user: 0, assistant: 0, frames: 0 },
  },
  perSubMax: 9,
})
const judged = (place: number): SessionNote => ({ kind: 'judged', place })
const withOtherTable = (path: string): void => {
  const database = new DatabaseSync(path)
  database.exec('CREATE TABLE filler (bytes BLOB)')
  database.close()
}

describe('sessions in SQLite', () => {
  let folder: ReturnType<typeof inFolder>
  beforeEach(() => {
    folder = inFolder()
  })
  afterEach(() => folder.end())

  it('what nobody flushes is kept at the end of the turn', async () => {
    const store = openSessionStore(openSqliteSideRows(folder.path), { clock })
    store.save([judged(1)])
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    const other = openSessionStore(openSqliteSideRows(folder.path), { clock })
    expect(await other.restore()).toMatchObject({ judgedTo: 1 })
    await other.close()
    await store.close()
  })

  it('a file that is no database is a clear failure', () => {
    withOtherTable(folder.path)
    const database = new DatabaseSync(folder.path)
    database.exec('CREATE TABLE mcp_schema (other TEXT)')
    database.close()
    expect(() => openSessionStore(openSqliteSideRows(folder.path), { clock })).toThrow(
      RecordStoreUnavailable,
    )
  })

  it('while another holds the file, nothing is lost: it is kept once the file is free', async () => {
    const store = openSessionStore(openSqliteSideRows(folder.path), { clock })
    const other = new DatabaseSync(folder.path)
    other.exec('BEGIN IMMEDIATE')
    store.save([judged(1)])
    await expect(store.flush()).rejects.toThrow(RecordStoreUnavailable)
    other.exec('ROLLBACK')
    other.close()
    await store.flush()
    expect(await store.restore()).toMatchObject({ judgedTo: 1 })
    await store.close()
  })

  it('S12: beyond 50,000 notes that the file refuses, none is taken any more: what was judged stays behind', async () => {
    const store = openSessionStore(openSqliteSideRows(folder.path), { clock })
    store.save([judged(1)])
    await store.flush()
    store.save(Array.from({ length: 50_001 }, () => judged(2)))
    store.save([judged(3)])
    await store.flush()
    await store.commit(openedSession(1))
    expect(await store.restore()).toMatchObject({ judgedTo: 1, sessions: [{ number: 1 }] })
    await store.close()
  })

  it('lives beside the audit rows in one file', async () => {
    const rows = openSqliteSideRows(folder.path)
    const audit = openAuditTrail(rows, { clock })
    const store = openSessionStore(rows, { clock })
    const opening = store.commit(openedSession(1))
    const row = { at: 'now', outcome: 'accepted', reason: 'ok', via: 'hmac', actor: 'a' } as const
    await Promise.all([audit.add(row), opening])
    expect(await readAuditRows(rows, { limit: 5 })).toHaveLength(1)
    expect((await store.restore()).sessions).toHaveLength(1)
    await store.close()
    await audit.close()
  })
})
