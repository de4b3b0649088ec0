// The SQL of the record store on PostgreSQL, and its rows in the shape of stored-record.ts.

import { bodyOfBytes } from '@tallystick/journal-store'
import type { PostgresQuery } from '@tallystick/journal-store/postgres'
import type { Audience } from '../wire/records.ts'
import type { RecordRows } from './record-rows.ts'
import { VERSION_TABLES } from './sqlite-record-database.ts'
import type { ChainRow, FoundVersion, VersionRow, WholeChainRow } from './stored-record.ts'

export type ChainColumns = {
  readonly id: number
  readonly patient: string
  readonly domain: string
  readonly audience: Audience
  readonly latest_version: number
  readonly head_hash: string
  readonly erased_leaves: string | null
}

export type VersionColumns = {
  readonly at: number
  readonly chain: number
  readonly version: number
  readonly written_at: string
  readonly leaf_hash: Buffer
  readonly body: Buffer
}

/** A row of a join in which the version may be missing. */
export type JoinedColumns = ChainColumns & (VersionColumns | { readonly at: null })

export const CHAIN_COLUMNS =
  'c.id, c.patient, c.domain, c.audience, c.latest_version, c.head_hash, c.erased_leaves'
export const VERSION_COLUMNS = 'v.at, v.chain, v.version, v.written_at, v.leaf_hash, v.body'

export const tableOf = (audience: Audience): string => `care.${VERSION_TABLES[audience]}`

/** The newest stored version of each chain `c`, of either audience. */
export const JOIN_NEWEST = `LEFT JOIN LATERAL (
    (SELECT * FROM ${tableOf('user')} WHERE c.audience = 'user' AND chain = c.id ORDER BY version DESC LIMIT 1)
    UNION ALL
    (SELECT * FROM ${tableOf('assistant')} WHERE c.audience = 'assistant' AND chain = c.id ORDER BY version DESC LIMIT 1)
  ) v ON true`

export const wholeChainOf = (row: ChainColumns): WholeChainRow => [
  row.id,
  row.patient,
  row.domain,
  row.audience,
  row.latest_version,
  row.head_hash,
  row.erased_leaves,
]

export const chainOf = (row: ChainColumns): ChainRow => [
  row.id,
  row.audience,
  row.latest_version,
  row.head_hash,
  row.erased_leaves,
]

const versionRow = (row: VersionColumns): VersionRow => [
  row.at,
  row.chain,
  row.version,
  row.written_at,
  row.leaf_hash.toString('hex'),
  bodyOfBytes(row.body),
]

/** The version of a join, where there is one. */
export const joinedVersion = (row: JoinedColumns | undefined): VersionRow | undefined =>
  row === undefined || row.at === null ? undefined : versionRow(row)

/** Chain and version of a join. */
export const foundVersion = (row: ChainColumns & VersionColumns): FoundVersion => ({
  chain: wholeChainOf(row),
  row: versionRow(row),
})

/** What verification and export read. */
export function postgresRows(read: PostgresQuery): RecordRows {
  const versions = async (
    audience: Audience,
    where: string,
    values: readonly unknown[],
  ): Promise<readonly VersionRow[]> => {
    const sql = `SELECT ${VERSION_COLUMNS} FROM ${tableOf(audience)} v WHERE ${where}`
    return (await read<VersionColumns>(sql, values)).map(versionRow)
  }
  const chains = async (where: string, values: readonly unknown[]) =>
    (
      await read<ChainColumns>(`SELECT ${CHAIN_COLUMNS} FROM care.chains c WHERE ${where}`, values)
    ).map(wholeChainOf)
  return {
    leaves: ({ audience, from, to }) =>
      versions(audience, 'v.at >= $1 AND v.at < $2 ORDER BY v.at', [from, to]),
    leafBytes: async ({ audience, from, to }) => {
      const [row] = await read<{ readonly bytes: number }>(
        `SELECT coalesce(sum(octet_length(body)), 0)::bigint AS bytes FROM ${tableOf(audience)} WHERE at >= $1 AND at < $2`,
        [from, to],
      )
      return row?.bytes ?? 0
    },
    leafHashes: async ({ audience, from, to }) => {
      const rows = await read<{ readonly leaf_hash: Buffer }>(
        `SELECT leaf_hash FROM ${tableOf(audience)} WHERE at >= $1 AND at < $2 ORDER BY at`,
        [from, to],
      )
      return rows.map((row) => row.leaf_hash.toString('hex'))
    },
    versions: ({ audience, chain, after, upTo, limit }) =>
      versions(
        audience,
        'v.chain = $1 AND v.version > $2 AND v.version <= $3 ORDER BY v.version LIMIT $4',
        [chain, after, upTo, limit],
      ),
    newest: async (audience, ids) => {
      const rows = await versions(
        audience,
        `(v.chain, v.version) IN (SELECT chain, max(version) FROM ${tableOf(audience)} WHERE chain = ANY ($1) GROUP BY chain)`,
        [ids],
      )
      return new Map(rows.map((row) => [row[1], row]))
    },
    chains: async (ids) =>
      new Map((await chains('c.id = ANY ($1)', [ids])).map((chain) => [chain[0], chain])),
    chainOf: async ({ audience, domain, patient }) => {
      const where = 'c.audience = $1 AND c.patient = $2 AND c.domain = $3'
      const [chain] = await chains(where, [audience, patient, domain])
      return chain === undefined ? undefined : [chain[0], chain[3], chain[4], chain[5], chain[6]]
    },
    chainsAfter: (audience, { after, limit }) =>
      chains('c.audience = $1 AND c.id > $2 ORDER BY c.id LIMIT $3', [audience, after, limit]),
  }
}
