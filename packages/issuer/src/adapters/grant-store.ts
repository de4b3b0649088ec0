/** oidc-provider must remember these, over either database: sessions, codes, grants, refresh tokens, registered clients. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '@tallystick/service-kit'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import { type GrantDatabase, type GrantRow, GrantStoreUnavailable } from './grant-database.ts'

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

const UPSERT = `
  INSERT INTO kept (model, id, payload, grant_id, uid, rotations, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (model, id) DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid,
    rotations = excluded.rotations, expires_at = excluded.expires_at`
// A used program lives longer than this, so strangers never push it out.
const TRIM = `
  DELETE FROM kept WHERE added IN (SELECT added FROM kept
    WHERE model = $1 AND expires_at <= $2 ORDER BY added DESC LIMIT 9223372036854775807 OFFSET $3)`
const PROLONG = `UPDATE kept SET expires_at = $1 WHERE model = 'Client' AND id = $2 AND expires_at < $1`
/** Of requests that read one token as unused at once, one uses it; its own repetition is no second use. */
const CONSUME = `
  UPDATE kept SET consumed_at = $1, consumed_by = $2
  WHERE model = $3 AND id = $4 AND (consumed_by IS NULL OR consumed_by = $2) RETURNING id`
const SUCCESSOR = `
  SELECT next.id, next.consumed_at FROM kept AS used
  LEFT JOIN kept AS next ON next.model = used.model AND next.grant_id = used.grant_id AND next.rotations = used.rotations + 1
  WHERE used.model = 'RefreshToken' AND used.id = $1 AND used.consumed_at >= $2`

/** Finds what came after a refresh token that was used a moment ago. */
type Successor =
  | { readonly kind: 'unused'; readonly id: string }
  /** The request that used it has not stored the next one yet. */
  | { readonly kind: 'under-way' }
  | { readonly kind: 'none' }

function readSuccessor(row: GrantRow | undefined): Successor {
  if (row === undefined) return { kind: 'none' }
  const { id, consumed_at: consumedAt } = row
  if (typeof id !== 'string') return { kind: 'under-way' }
  return consumedAt === null ? { kind: 'unused', id } : { kind: 'none' }
}

/** After a row was saved: bounds on what strangers can add, and the longer life of a program that somebody allowed something. */
async function bound(
  database: GrantDatabase,
  saved: {
    readonly model: string
    readonly nowSeconds: number
    readonly expiresAt: number | null
    readonly clientId: string
  },
): Promise<void> {
  const { model, nowSeconds, expiresAt, clientId } = saved
  const max = ROWS_MAX[model]
  if (max !== undefined)
    await database.write(TRIM, [model, nowSeconds + UNUSED_CLIENT_SECONDS, max])
  if (model === 'Grant' && expiresAt !== null)
    await database.write(PROLONG, [expiresAt + USED_CLIENT_SECONDS, clientId])
}

export type GrantStore = ReturnType<typeof createGrantStore>

/** Everything that it returns rejects with `GrantStoreUnavailable`. */
export function createGrantStore(database: GrantDatabase, clock: Clock) {
  const nowSeconds = (): number => clock.unixMs() / 1_000
  const read = async (where: string, values: string[]): Promise<AdapterPayload | undefined> => {
    const sql = `SELECT payload, consumed_at FROM kept
      WHERE ${where} AND (expires_at IS NULL OR expires_at > $${values.length + 1})`
    const [row] = await database.read(sql, [...values, nowSeconds()])
    if (row === undefined) return undefined
    const payload = JSON.parse(String(row['payload'])) as AdapterPayload
    const consumed = row['consumed_at']
    return typeof consumed === 'number' ? { ...payload, consumed } : payload
  }
  const successor = async (id: string): Promise<Successor> => {
    const since = Math.floor(nowSeconds()) - REPEAT_SECONDS
    const [row] = await database.read(SUCCESSOR, [id, since])
    return readSuccessor(row)
  }
  const adapter = (model: string): Adapter => ({
    async upsert(id, payload, expiresIn) {
      const { grantId = null, uid = null } = payload
      const rotations = typeof payload['rotations'] === 'number' ? payload['rotations'] : 0
      // A grant's own row is found by its id.
      const lifeSeconds = model === 'Client' ? UNUSED_CLIENT_SECONDS : expiresIn
      const expiresAt = lifeSeconds ? nowSeconds() + lifeSeconds : null
      const text = JSON.stringify(payload)
      await database.write(UPSERT, [model, id, text, grantId, uid, rotations, expiresAt])
      const clientId = payload.clientId ?? ''
      await bound(database, { model, nowSeconds: nowSeconds(), expiresAt, clientId })
    },
    async find(id) {
      const payload = await read('model = $1 AND id = $2', [model, id])
      if (payload?.consumed === undefined || model !== 'RefreshToken') return payload
      const { kind } = await successor(id)
      return kind === 'none' ? payload : { ...payload, consumed: undefined }
    },
    findByUid: (uid) => read('model = $1 AND uid = $2', [model, uid]),
    // There is no device flow.
    findByUserCode: async () => undefined,
    async consume(id) {
      const values = [Math.floor(nowSeconds()), randomUUID(), model, id]
      const used = await database.write(CONSUME, values)
      if (used.length === 0) throw new GrantStoreUnavailable('used twice at once')
    },
    async destroy(id) {
      await database.write('DELETE FROM kept WHERE model = $1 AND id = $2', [model, id])
    },
    async revokeByGrantId(grantId) {
      await database.write('DELETE FROM kept WHERE grant_id = $1', [grantId])
    },
  })
  return {
    adapter,
    /** The unused token that came after a used one, while the one who used it may have missed it. */
    async findSuccessor(id: string): Promise<string | undefined> {
      const found = await successor(id)
      return found.kind === 'unused' ? found.id : undefined
    },
  }
}

/** Deletes what has expired, now and every hour; returns how to end it. */
export function sweepGrants(
  database: GrantDatabase,
  { clock, onProblem }: { readonly clock: Clock; readonly onProblem: (error: unknown) => void },
): () => void {
  let cancel: (() => void) | undefined
  const sweep = (): void => {
    const now = clock.unixMs() / 1_000
    database.write('DELETE FROM kept WHERE expires_at <= $1', [now]).catch(onProblem)
    cancel = clock.after(SWEEP_MS, sweep)
  }
  sweep()
  return () => cancel?.()
}
