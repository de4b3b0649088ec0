// Reads of single versions and of lists, on PostgreSQL. Each is one statement, and so of one moment. What rows are to the
// domain, stored-record.ts says.
import type { BodySeal } from '@tallystick/journal-store'
import type { PostgresQuery } from '@tallystick/journal-store/postgres'
import type { CareRecord } from '../domain/care-record.ts'
import type { ChainHead, RecordStore } from '../domain/record-store.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import {
  CHAIN_COLUMNS,
  type ChainColumns,
  chainOf,
  foundVersion,
  JOIN_NEWEST,
  type JoinedColumns,
  joinedVersion,
  tableOf,
  VERSION_COLUMNS,
  type VersionColumns,
  wholeChainOf,
} from './postgres-rows.ts'
import {
  byTime,
  type FoundVersion,
  headOf,
  latestOf,
  recordOfRow,
  slotOfChain,
  versionOf,
} from './stored-record.ts'

type Reads = Pick<RecordStore, 'latest' | 'version' | 'head' | 'heads' | 'changesSince'>

const HEADS = `SELECT ${CHAIN_COLUMNS}, ${VERSION_COLUMNS} FROM care.chains c ${JOIN_NEWEST}`

/** A chain with its two versions up to a number; without a number, its two newest ones. */
const versionsSql = (audience: Audience, where: string): string =>
  `SELECT ${CHAIN_COLUMNS}, ${VERSION_COLUMNS} FROM care.chains c LEFT JOIN LATERAL (
     SELECT * FROM ${tableOf(audience)} WHERE chain = c.id ${where} ORDER BY version DESC LIMIT 2
   ) v ON true WHERE c.patient = $1 AND c.domain = $2 ORDER BY v.version DESC`

/** The reading half of the store. */
export function createPostgresReads(read: PostgresQuery, seal: BodySeal): Reads {
  const headOfRow = (row: JoinedColumns): ChainHead =>
    headOf(wholeChainOf(row), joinedVersion(row), seal)
  const versionsOf = async (
    { audience, domain, patient }: ChainSlot,
    number: number | undefined,
  ) => {
    const rows =
      number === undefined
        ? await read<JoinedColumns>(versionsSql(audience, ''), [patient, domain])
        : await read<JoinedColumns>(
            versionsSql(audience, 'AND version IN ($3::bigint, $3::bigint - 1)'),
            [patient, domain, number],
          )
    const [first] = rows
    const versions = rows.flatMap((row) => {
      const version = joinedVersion(row)
      return version === undefined ? [] : [version]
    })
    return {
      chain: first === undefined ? undefined : chainOf(first),
      newest: versions[0],
      version: (one: number) => versions.find((row) => row[2] === one),
    }
  }
  return {
    latest: async (slot) => {
      const { chain, ...rows } = await versionsOf(slot, undefined)
      return latestOf(chain, rows, { slot, seal })
    },
    version: async (slot, number) => {
      const { chain, version } = await versionsOf(slot, number)
      return versionOf(chain, { number, version }, { slot, seal })
    },
    head: async ({ audience, domain, patient }) => {
      const sql = `${HEADS} WHERE c.patient = $1 AND c.domain = $2 AND c.audience = $3`
      const [row] = await read<JoinedColumns>(sql, [patient, domain, audience])
      return row === undefined ? undefined : headOfRow(row)
    },
    heads: async ({ audiences, after = 0, limit, patient }) => {
      const sql = `${HEADS} WHERE c.audience = ANY ($1) AND c.id > $2
        AND ($3::text IS NULL OR c.patient = $3) ORDER BY c.id LIMIT $4`
      const values = [audiences, after, patient ?? null, limit]
      return (await read<JoinedColumns>(sql, values)).map(headOfRow)
    },
    changesSince: async (query) => {
      const changes = await Promise.all(
        [...new Set(query.audiences)].map((audience) =>
          changesOf(read, { ...query, audience, seal }),
        ),
      )
      return changes
        .flat()
        .toSorted(byTime)
        .slice(0, query.limit)
        .map(({ record }) => record)
    },
  }
}

type Change = FoundVersion & { readonly record: CareRecord }

/** A patient's first versions of one audience since a time that hold; for those that do not, more rows are read. */
async function changesOf(
  read: PostgresQuery,
  query: Omit<Parameters<RecordStore['changesSince']>[0], 'audiences'> & {
    readonly audience: Audience
    readonly seal: BodySeal
  },
): Promise<readonly Change[]> {
  const { audience, limit, patient, seal, sinceIso } = query
  const sql = `SELECT ${CHAIN_COLUMNS}, ${VERSION_COLUMNS} FROM care.chains c
    JOIN ${tableOf(audience)} v ON v.chain = c.id
    WHERE c.patient = $1 AND c.audience = $2 AND v.written_at >= $3
    ORDER BY v.written_at, v.chain, v.version LIMIT $4`
  for (let rowsMax = limit; ; rowsMax *= 2) {
    const values = [patient, audience, sinceIso, rowsMax]
    const rows = await read<ChainColumns & VersionColumns>(sql, values)
    const changes = rows.map(foundVersion).flatMap((found) => {
      const record = recordOfRow(found.row, { slot: slotOfChain(found.chain), seal })
      return record === undefined ? [] : [{ ...found, record }]
    })
    if (changes.length >= limit || rows.length < rowsMax) return changes
  }
}
