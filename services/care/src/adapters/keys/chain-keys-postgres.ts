// The keys of chains in a PostgreSQL of their own (C43). Whoever the URL names owns the schema and makes it at the first
// opening. Backups of that server hold destroyed keys for as long as they are kept.
import { readSchema } from '@tallystick/journal-store'
import {
  MAKE_OWN,
  openWriteProbe,
  PostgresConnection,
  PostgresDoor,
  type PostgresOptions,
  type PostgresRun,
  UPKEEP_ANSWER_MS,
} from '@tallystick/journal-store/postgres'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import { POSTGRES_RECORDS } from '../schemas/postgres-record-database.ts'
import {
  type ChainKeysPlace,
  type ErasureRow,
  erasureOfRow,
  PLACE_KEY_CHAIN,
  requireEmpty,
  rowOfErasure,
  type WrappedKey,
} from './chain-keys.ts'

export const CHAIN_KEYS_SCHEMA = 'care_keys'

const TABLES = new URL('./postgres-chain-keys.schema.sql', import.meta.url)

/** Whoever adds or destroys keys: without it, a key could be added beside the destruction of its chain's. */
const ALONE = `SELECT pg_advisory_xact_lock(hashtextextended('${CHAIN_KEYS_SCHEMA}', 0))`
/** Whoever rewraps, as processes do when they start: two would wait for each other's rows. */
const REWRAPPING = `SELECT pg_advisory_xact_lock(hashtextextended('${CHAIN_KEYS_SCHEMA}', 1))`
const KEYS = 'unnest($1::text[], $2::text[], $3::bytea[]) AS given (chain, key_id, wrapped)'
const ADD = `INSERT INTO chain_keys SELECT * FROM ${KEYS}
  WHERE chain NOT IN (SELECT chain FROM erasures) ON CONFLICT DO NOTHING`
const REWRAP = `UPDATE chain_keys SET wrapped = given.wrapped FROM ${KEYS} WHERE chain_keys.key_id = given.key_id`
const ERASE = `INSERT INTO erasures SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
  ON CONFLICT DO NOTHING`
const FIND = 'SELECT chain, key_id, wrapped FROM chain_keys'
const FIND_OTHERS = `${FIND} WHERE substr(wrapped, 1, length($1::bytea)) <> $1`
const ERASURES = 'SELECT chain, at, actor, reason FROM erasures ORDER BY at, chain'

/** Rows as arrays of their columns. */
const toColumns = (rows: readonly (readonly unknown[])[], count: number) =>
  Array.from({ length: count }, (_, at) => rows.map((row) => row[at]))

const putWrappings =
  (keys: readonly WrappedKey[]): PostgresRun<unknown> =>
  async (query) => {
    await query(REWRAPPING)
    return query(REWRAP, toColumns(keys, 3))
  }

type KeysServer = Omit<PostgresOptions, 'Unavailable'>

const keysDoor = (server: KeysServer): PostgresDoor =>
  new PostgresDoor({ noun: 'the chain keys', ...server, Unavailable: RecordStoreUnavailable })

/** A base backup, or the archive of a write-ahead log, holds every database of its cluster. */
async function requireApart(door: PostgresDoor, records: KeysServer): Promise<void> {
  const other = new PostgresDoor({
    noun: 'the records',
    ...records,
    Unavailable: RecordStoreUnavailable,
  })
  const [own, theirs] = await Promise.all([door.clusterId(), other.clusterId()])
  if (own === theirs)
    throw new RecordStoreUnavailable(
      `${door.name} and ${other.name} are in one PostgreSQL cluster (system identifier ${own}), whose base backups would hold the keys beside the records: CHAIN_KEYS_URL needs a cluster of its own, made by initdb`,
    )
}

/**
 * Opens the keys in a database, and makes its schema. Rejects with RecordStoreUnavailable, also for a database of records or, if
 * these are given, one in their cluster.
 */
export async function openChainKeysDatabase(
  server: KeysServer,
  records?: KeysServer,
): Promise<ChainKeysPlace> {
  const door = keysDoor(server)
  if (records !== undefined) await requireApart(door, records)
  const connect = (answerMs?: number) =>
    new PostgresConnection(door, { schema: CHAIN_KEYS_SCHEMA, answerMs })
  const [reads, writes, upkeep] = [connect(), connect(), connect(UPKEEP_ANSWER_MS)]
  const { tuples } = reads
  /** A rewritten table has no dead rows, whose bytes a later base backup would hold. */
  const purge = () => upkeep.read(`VACUUM FULL ${CHAIN_KEYS_SCHEMA}.chain_keys`)
  const erasures = async () => (await tuples<ErasureRow>(ERASURES)).map(erasureOfRow)
  const copy = async () => ({
    keys: await upkeep.tuples<WrappedKey>(`${FIND} ORDER BY chain`),
    erasures: await erasures(),
  })
  const open: { end(): Promise<void> }[] = [reads, writes, upkeep]
  const close = async (): Promise<void> => {
    await Promise.all(open.map((connection) => connection.end()))
  }
  await prepareTables(writes).catch(async (error: unknown) => {
    await close()
    throw error
  })
  return {
    find: async (chains) =>
      chains.length === 0
        ? []
        : tuples<WrappedKey>(`${FIND} WHERE chain = ANY ($1::text[])`, [chains]),
    findOthers: (header) => upkeep.tuples<WrappedKey>(FIND_OTHERS, [header]),
    add: (keys) =>
      writes.transaction(async (query) => {
        await query(ALONE)
        await query(ADD, toColumns(keys, 3))
        // A key that was there, too, is on the standby once this commit is.
        await query(MAKE_OWN)
      }),
    rewrap: async (keys) => {
      await upkeep.transaction(putWrappings(keys))
      await purge()
    },
    erasures,
    destroy: async (erasure) => {
      const row = rowOfErasure(erasure)
      await writes.transaction(async (query) => {
        await query(ALONE)
        await query(ERASE, toColumns([row], 4))
        await query('DELETE FROM chain_keys WHERE chain = $1', [row[0]])
      })
      await purge()
    },
    copy,
    fill: async (copied) => {
      requireEmpty(await copy())
      await upkeep.transaction(async (query) => {
        await query(ALONE)
        await query('DELETE FROM chain_keys WHERE chain = $1', [PLACE_KEY_CHAIN])
        // First: what was erased gets no key.
        await query(ERASE, toColumns(copied.erasures.map(rowOfErasure), 4))
        await query(ADD, toColumns(copied.keys, 3))
      })
    },
    openProbe: (onProblem) => {
      const probe = openWriteProbe(door, onProblem)
      open.push(probe)
      return probe.trouble
    },
    stopping: (onProblem) => door.stop(onProblem),
    close,
  }
}

/** Takes the server's timeline for the newest: an operator has put back an older one on purpose. */
export const acceptKeysTimeline = (server: KeysServer): Promise<void> =>
  keysDoor(server).acceptTimeline()

function prepareTables(writes: PostgresConnection): Promise<void> {
  return writes.transaction(async (query) => {
    await query(ALONE)
    const records = await query('SELECT 1 AS found FROM pg_namespace WHERE nspname = $1', [
      POSTGRES_RECORDS.schema,
    ])
    if (records.length > 0)
      throw new RecordStoreUnavailable(
        'CHAIN_KEYS_URL names a database of records: every backup of it would hold the keys',
      )
    const known = await query('SELECT 1 AS found FROM pg_namespace WHERE nspname = $1', [
      CHAIN_KEYS_SCHEMA,
    ])
    // Whoever may only use the schema may not make it, even if it is there.
    if (known.length > 0) return
    await query(`CREATE SCHEMA ${CHAIN_KEYS_SCHEMA}`)
    // A prepared statement is one command.
    await query(`DO $tables$ BEGIN ${readSchema(TABLES, RecordStoreUnavailable)} END $tables$`)
  })
}
