/**
 * What oidc-provider must remember, in SQLite: sessions, codes, grants, refresh tokens, registered clients. Only its owner
 * may read the file, like the keys beside it: a reader can act as anybody until the tokens in it expire.
 */
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '@tallystick/service-kit'
import type { Adapter, AdapterPayload } from 'oidc-provider'

/** Expired rows are deleted this often. */
const SWEEP_MS = 3_600_000
/** A program that registered itself and was not allowed anything by then is forgotten. */
const UNUSED_CLIENT_SECONDS = 86_400
/** Programs keep their registration: it outlives the last grant by a quarter of a year. */
const USED_CLIENT_SECONDS = 7_776_000
/** Programs that nobody has allowed anything, and sign-ins that have begun; of more, the oldest go. Each takes a few kB. */
const ROWS_MAX: Readonly<Record<string, number>> = { Client: 5_000, Interaction: 10_000 }
/** A program whose answer was lost asks again within this. */
const REPEAT_SECONDS = 30

/** The file cannot be opened, read or written. */
export class GrantStoreUnavailable extends Error {
  override readonly name = 'GrantStoreUnavailable'
}

const SCHEMA = readFileSync(new URL('./sqlite-grants.schema.sql', import.meta.url), 'utf8')

const UPSERT = `
  INSERT INTO kept (model, id, payload, grant_id, uid, expires_at) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid,
    expires_at = excluded.expires_at`

type Row = { readonly payload: string; readonly consumed_at: number | null }

function openDatabase(path: string): DatabaseSync {
  try {
    if (path !== ':memory:') {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      // SQLite gives the files beside it its mode.
      closeSync(openSync(path, 'a', 0o600))
    }
    const database = new DatabaseSync(path)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    database.exec(SCHEMA)
    return database
  } catch (cause) {
    throw new GrantStoreUnavailable(`${path} cannot be opened`, { cause })
  }
}

function attempt<Value>(work: () => Value): Value {
  try {
    return work()
  } catch (cause) {
    throw new GrantStoreUnavailable('the grant store cannot be used', { cause })
  }
}

type Run = (sql: string, ...values: (string | number | null)[]) => number

/** After a row was saved: bounds on what strangers can add, and the longer life of a program that somebody allowed something. */
function bound(
  run: Run,
  saved: {
    readonly model: string
    readonly nowSeconds: number
    readonly expiresAt: number | null
    readonly clientId: string
  },
): void {
  const { model, nowSeconds, expiresAt, clientId } = saved
  const max = ROWS_MAX[model]
  if (max !== undefined)
    run(
      // A used program lives longer than this, so strangers never push it out.
      `DELETE FROM kept WHERE rowid IN (SELECT rowid FROM kept
        WHERE model = ? AND expires_at <= ? ORDER BY rowid DESC LIMIT -1 OFFSET ?)`,
      model,
      nowSeconds + UNUSED_CLIENT_SECONDS,
      max,
    )
  if (model !== 'Grant' || expiresAt === null) return
  const until = expiresAt + USED_CLIENT_SECONDS
  const sql = `UPDATE kept SET expires_at = ? WHERE model = 'Client' AND id = ? AND expires_at < ?`
  run(sql, until, clientId, until)
}

const SUCCESSOR = `
  SELECT next.id FROM kept AS used JOIN kept AS next USING (model, grant_id)
  WHERE model = 'RefreshToken' AND used.id = ? AND used.consumed_at >= ? AND next.consumed_at IS NULL
    AND next.payload ->> 'rotations' = used.payload ->> 'rotations' + 1`

export type GrantStore = ReturnType<typeof openGrantStore>

/** Throws `GrantStoreUnavailable`, as does all that it returns. */
export function openGrantStore(path: string, clock: Clock) {
  const database = openDatabase(path)
  const run: Run = (sql, ...values) =>
    attempt(() => Number(database.prepare(sql).run(...values).changes))
  const nowSeconds = (): number => clock.unixMs() / 1_000
  const read = (where: string, ...values: string[]): AdapterPayload | undefined => {
    const sql = `SELECT payload, consumed_at FROM kept WHERE ${where} AND (expires_at IS NULL OR expires_at > ?)`
    const row = attempt(() => database.prepare(sql).get(...values, nowSeconds())) as Row | undefined
    if (row === undefined) return undefined
    const payload = JSON.parse(row.payload) as AdapterPayload
    return row.consumed_at === null ? payload : { ...payload, consumed: row.consumed_at }
  }
  /** The unused token that came after a used one, while the one who used it may have missed it. */
  const findSuccessor = (id: string): string | undefined => {
    const since = Math.floor(nowSeconds()) - REPEAT_SECONDS
    const row = attempt(() => database.prepare(SUCCESSOR).get(id, since))
    return row?.['id']?.toString()
  }
  const adapter = (model: string): Adapter => ({
    async upsert(id, payload, expiresIn) {
      const { grantId = null, uid = null } = payload
      // A grant's own row is found by its id.
      const lifeSeconds = model === 'Client' ? UNUSED_CLIENT_SECONDS : expiresIn
      const expiresAt = lifeSeconds ? nowSeconds() + lifeSeconds : null
      run(UPSERT, model, id, JSON.stringify(payload), grantId, uid, expiresAt)
      const clientId = payload.clientId ?? ''
      bound(run, { model, nowSeconds: nowSeconds(), expiresAt, clientId })
    },
    async find(id) {
      const payload = read('model = ? AND id = ?', model, id)
      if (payload?.consumed === undefined || model !== 'RefreshToken') return payload
      return findSuccessor(id) === undefined ? payload : { ...payload, consumed: undefined }
    },
    findByUid: async (uid) => read('model = ? AND uid = ?', model, uid),
    // There is no device flow.
    findByUserCode: async () => undefined,
    async consume(id) {
      const sql =
        'UPDATE kept SET consumed_at = ? WHERE model = ? AND id = ? AND consumed_at IS NULL'
      // Two requests may read one token as unused: here the second finds it used.
      if (run(sql, Math.floor(nowSeconds()), model, id) === 0)
        throw new GrantStoreUnavailable('used twice at once')
    },
    async destroy(id) {
      run('DELETE FROM kept WHERE model = ? AND id = ?', model, id)
    },
    async revokeByGrantId(grantId) {
      run('DELETE FROM kept WHERE grant_id = ?', grantId)
    },
  })
  let cancel: (() => void) | undefined
  const sweep = (): void => {
    run('DELETE FROM kept WHERE expires_at <= ?', nowSeconds())
    cancel = clock.after(SWEEP_MS, sweep)
  }
  sweep()
  return {
    adapter,
    findSuccessor,
    close(): void {
      cancel?.()
      database.close()
    },
  }
}
