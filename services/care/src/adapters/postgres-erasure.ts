// Erasing a chain on PostgreSQL, as the role that reseals: what chain-erasure.ts does to the file's rows. Dead rows and older
// backups hold sealed entries, whose key is gone everywhere.
import {
  PostgresConnection,
  type PostgresJournalStore,
  type PostgresOptions,
  type PostgresQuery,
  resealPostgresStore,
} from '@tallystick/journal-store/postgres'
import type { KeptErasure } from '../domain/record-store.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { ERASED_HEAD, type ErasedBy, type ErasedChain, leavesRoot } from './chain-erasure.ts'
import { type ChainKeys } from './chain-keys.ts'
import { chainName, erasureOfRow } from './chain-keys-file.ts'
import { POSTGRES_RECORDS } from './postgres-record-database.ts'
import { CHAIN_COLUMNS, type ChainColumns, tableOf } from './postgres-rows.ts'

/** Erases a chain. Rejects with RecordStoreUnavailable. */
export async function erasePostgresChain(
  slot: ChainSlot,
  by: ErasedBy,
  erasing: Omit<PostgresOptions, 'Unavailable'> & { readonly keys: ChainKeys },
): Promise<ErasedChain> {
  const { keys } = erasing
  // Also refuses where a running service does not have the keys.
  await resealPostgresStore(POSTGRES_RECORDS, {
    ...erasing,
    keyRing: keys.ring,
    plan: keys.plan(),
  })
  const connection = new PostgresConnection({
    ...erasing,
    Unavailable: POSTGRES_RECORDS.Unavailable,
  })
  try {
    const [chain] = await connection.read<ChainColumns>(CHAIN, [slot.patient, slot.domain])
    if (chain?.audience !== slot.audience) return { kind: 'absent' }
    await connection.transaction((query) => markErased(query, { ...slot, ...by }))
    keys.destroy({ ...slot, ...by })
    return { kind: 'erased', versions: chain.latest_version }
  } finally {
    await connection.end()
  }
}

const CHAIN = `SELECT ${CHAIN_COLUMNS} FROM care.chains c WHERE c.patient = $1 AND c.domain = $2`

/** Within a transaction: notes that a chain is erased; one that is not there cannot come back either. */
async function markErased(query: PostgresQuery, erasure: KeptErasure): Promise<void> {
  const { patient, domain, at, actor, reason } = erasure
  // Nothing is appended meanwhile.
  await query('SELECT name FROM care.take_heads()')
  const [chain] = await query<ChainColumns>(CHAIN, [patient, domain])
  if (chain !== undefined && chain.erased_leaves === null) {
    const { audience, id } = chain
    const leaves = await query<{ readonly leaf_hash: Buffer }>(
      `SELECT leaf_hash FROM ${tableOf(audience)} WHERE chain = $1 ORDER BY version`,
      [id],
    )
    const root = leavesRoot(leaves.map((row) => row.leaf_hash))
    await query('UPDATE care.chains SET erased_leaves = $1, head_hash = $2 WHERE id = $3', [
      root,
      ERASED_HEAD,
      id,
    ])
    await query(
      `DELETE FROM care.requests WHERE audience = $1 AND leaf_index IN (SELECT at FROM ${tableOf(audience)} WHERE chain = $2)`,
      [audience, id],
    )
  }
  await query('INSERT INTO care.erasures VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING', [
    chainName(erasure),
    at,
    actor,
    reason,
  ])
}

type KeptRow = {
  readonly chain: string
  readonly at: string
  readonly actor: string
  readonly reason: string
}

/** Brings records and keys together before a service uses them: whichever of the two was put back, what was erased stays so. */
export async function reconcilePostgresErasures(
  store: Pick<PostgresJournalStore<Audience>, 'read' | 'writeRows'>,
  keys: ChainKeys,
): Promise<void> {
  const kept = await store.read<KeptRow>('SELECT chain, at, actor, reason FROM care.erasures')
  for (const { chain, at, actor, reason } of kept)
    if (!keys.isErased(chain)) keys.destroy(erasureOfRow([chain, at, actor, reason]))
  const noted = new Set(kept.map(({ chain }) => chain))
  for (const erasure of keys.erasures())
    if (!noted.has(chainName(erasure))) await store.writeRows((query) => markErased(query, erasure))
}
