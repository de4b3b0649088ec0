/**
 * Sealed bodies on PostgreSQL: the keys that a store needs, and moving bodies under another key while services run. The role
 * that does so may put another body into a row and nothing else, so that no hash changes.
 */
import type { KeyRing } from '@tallystick/hashchain'
import { type PostgresOptions } from './connect-postgres.ts'
import { PostgresConnection } from './postgres-connection.ts'
import type { PostgresSource } from './postgres-heads.ts'
import type { PostgresJournalTable, PostgresStoreKind } from './postgres-store-kind.ts'
import { type ResealOutcome, ROWS_PER_COMMIT } from './reseal.ts'
import {
  bodyOfBytes,
  checkSealKeys,
  keyIdOfHead,
  ringPlan,
  type SealedColumn,
  type SealPlan,
  sealKeyProof,
  sealReceipt,
} from './sealed-bodies.ts'

type SealedKind = PostgresStoreKind<string> & Required<Pick<PostgresStoreKind<string>, 'seal'>>

const isSealedKind = (kind: PostgresStoreKind<string>): kind is SealedKind =>
  kind.seal !== undefined

/** Rejects with the service's error unless the ring has every key that the store was sealed under, each the right one. */
export async function requirePostgresKeys(
  { kind, read }: PostgresSource,
  ring: KeyRing | undefined,
): Promise<void> {
  if (!isSealedKind(kind)) return
  const used = await read<{ readonly key_id: string; readonly proof: Buffer }>(
    `SELECT key_id, proof FROM ${kind.schema}.seal_keys ORDER BY key_id`,
  )
  checkSealKeys(
    used.map(({ key_id: keyId, proof }) => ({ keyId, proof })),
    ring,
    kind,
  )
}

/** Notes that values may from now on be sealed under the ring's active key. */
export async function registerPostgresKey(
  { kind, read }: PostgresSource,
  ring: KeyRing,
): Promise<void> {
  if (!isSealedKind(kind)) return
  await read(
    `INSERT INTO ${kind.schema}.seal_keys (key_id, proof) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
    [ring.activeId, sealKeyProof(ring, kind.seal)],
  )
}

type SealedTable = PostgresJournalTable & { readonly sealed: SealedColumn }

const sealedTables = (kind: SealedKind): readonly SealedTable[] =>
  Object.values(kind.journals).flatMap((table) =>
    table.sealed === undefined ? [] : [{ ...table, sealed: table.sealed }],
  )

type Reseal = PostgresSource & {
  readonly kind: SealedKind
  readonly ring: KeyRing
  readonly plan: SealPlan
}

/**
 * Seals everything as the plan says, else under the ring's active key, as the role of `kind.seal`. Rejects with the service's error, before anything
 * is changed, where a key is missing or running services do not know the active key yet: they could not read what is sealed
 * here. Dead rows and backups hold the old bodies until they are vacuumed and expire.
 */
export async function resealPostgresStore<Name extends string>(
  kind: PostgresStoreKind<Name> & Required<Pick<PostgresStoreKind<Name>, 'seal'>>,
  options: Omit<PostgresOptions, 'Unavailable'> & {
    readonly keyRing: KeyRing
    readonly plan?: SealPlan | undefined
  },
): Promise<ResealOutcome> {
  const connection = new PostgresConnection({ ...options, Unavailable: kind.Unavailable })
  const { keyRing: ring, pause, plan = ringPlan(ring) } = options
  const reseal: Reseal = { kind, read: connection.read, ring, plan }
  try {
    await requirePostgresKeys(reseal, ring)
    await requireKnownToServices(reseal)
    const counts = { resealed: 0, broken: 0 }
    const tables = sealedTables(kind)
    for (const table of tables) {
      for (let from = 0; ; from += ROWS_PER_COMMIT) {
        const done = await resealRows(reseal, table, from)
        if (done === undefined) break
        counts.resealed += done.resealed
        counts.broken += done.broken
        await pause(1)
      }
    }
    const { schema } = kind
    const keys = await connection.transaction(async (query) => {
      // Nothing is sealed meanwhile.
      await query(`SELECT name FROM ${schema}.take_heads()`)
      const inUse = new Set([ring.activeId, ...plan.finish()])
      for (const table of tables)
        for (const keyId of await keysIn({ kind, read: query }, table)) inUse.add(keyId)
      const listed = await query<{ readonly key_id: string }>(
        `SELECT key_id FROM ${schema}.seal_keys WHERE key_id <> $1 ORDER BY key_id`,
        [ring.activeId],
      )
      const others = listed.map(({ key_id: keyId }) => keyId)
      const retired = others.filter((keyId) => !inUse.has(keyId))
      await query(`DELETE FROM ${schema}.seal_keys WHERE key_id = ANY ($1)`, [retired])
      return { retired, needed: others.filter((keyId) => inUse.has(keyId)) }
    })
    return { activeKeyId: ring.activeId, ...counts, ...keys }
  } finally {
    await connection.end()
  }
}

/** A service that runs must know the key; where none runs, the next one is asked for it at its start. */
async function requireKnownToServices(reseal: Reseal): Promise<void> {
  const { kind, read, ring } = reseal
  const [known] = await read(`SELECT 1 FROM ${kind.schema}.seal_keys WHERE key_id = $1`, [
    ring.activeId,
  ])
  if (known !== undefined) return
  const [running] = await read(
    'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND usename = $1 LIMIT 1',
    [kind.appRole],
  )
  if (running === undefined) await registerPostgresKey(reseal, ring)
  else
    throw new kind.Unavailable(
      `the running service does not have the key "${ring.activeId}": restart it with that key first in ${kind.seal.ringName}, then reseal`,
    )
}

async function resealRows(
  { kind, plan, read }: Reseal,
  { sealed, table }: SealedTable,
  from: number,
): Promise<{ readonly resealed: number; readonly broken: number } | undefined> {
  const { body, join, slotColumns, slotText } = sealed
  const place = `${kind.schema}.${table}`
  const rows = await read<Record<string, unknown> & { at: number; stored: Buffer; cells: [] }>(
    `SELECT ${table}.at, ${body} AS stored, json_build_array(${slotColumns}) AS cells
       FROM ${place} ${join} WHERE ${table}.at >= $1 AND ${table}.at < $2 ORDER BY ${table}.at`,
    [from, from + ROWS_PER_COMMIT],
  )
  if (rows.length === 0) return undefined
  const moved = rows.flatMap(({ at, cells, stored }) => {
    const slot = slotText(cells)
    if (slot !== undefined && plan.isCurrent(sealReceipt(stored).keyId, slot)) return []
    const entry = slot === undefined ? undefined : plan.seal.open(bodyOfBytes(stored), slot)
    const isSound = slot !== undefined && entry !== undefined
    return [{ at, body: isSound ? plan.seal.close(entry, slot) : undefined }]
  })
  plan.commit()
  const sound = moved.filter((row) => row.body !== undefined)
  // One statement: rows of a journal change in nothing but this.
  if (sound.length > 0)
    await read(
      `UPDATE ${place} SET ${body} = moved.body
         FROM unnest($1::bigint[], $2::bytea[]) AS moved (at, body) WHERE ${table}.at = moved.at`,
      [sound.map(({ at }) => at), sound.map((row) => row.body)],
    )
  return { resealed: sound.length, broken: moved.length - sound.length }
}

/** Key ids in the headers of sealed bodies, which are one byte, the length of the id, and the id. */
async function keysIn(
  { kind, read }: PostgresSource,
  { sealed: { body }, table }: SealedTable,
): Promise<readonly string[]> {
  const heads = await read<{ readonly head: Buffer }>(
    `SELECT DISTINCT substring(${body} FROM 1 FOR 2 + get_byte(${body}, 1)) AS head
       FROM ${kind.schema}.${table} WHERE octet_length(${body}) > 2 AND get_byte(${body}, 0) = 249`,
  )
  return heads.flatMap(({ head }) => keyIdOfHead(head) ?? [])
}
