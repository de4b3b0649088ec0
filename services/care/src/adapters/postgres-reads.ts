// RecordReads of single versions and of lists, on PostgreSQL. Each is one statement, and so of one moment. What rows are to the
// domain, stored-record.ts says.
import type { BodySeal } from '@tallystick/journal-store'
import type { PostgresQuery } from '@tallystick/journal-store/postgres'
import type { Reach } from '../domain/care-record.ts'
import type { ChainHead, NamesQuery, RecordStore, WrittenVersion } from '../domain/record-store.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { namesOfChain } from './chain-keys-file.ts'
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
  headOf,
  inByteOrder,
  latestOf,
  markOf,
  patientsWithin,
  type RecordReads,
  recordOfRow,
  slotOfChain,
  versionOf,
} from './stored-record.ts'

/** To readers an erased chain is not there. */
const HEADS = `SELECT ${CHAIN_COLUMNS}, ${VERSION_COLUMNS} FROM care.chains c ${JOIN_NEWEST}
  WHERE c.erased_leaves IS NULL`

/** A chain with its two versions up to a number; without a number, its two newest ones. */
const versionsSql = (audience: Audience, where: string): string =>
  `SELECT ${CHAIN_COLUMNS}, ${VERSION_COLUMNS} FROM care.chains c LEFT JOIN LATERAL (
     SELECT * FROM ${tableOf(audience)} WHERE chain = c.id ${where} ORDER BY version DESC LIMIT 2
   ) v ON true WHERE c.audience = '${audience}' AND c.patient = $1 AND c.domain = $2 AND c.erased_leaves IS NULL
   ORDER BY v.version DESC`

/** The reading half of the store. */
export function createPostgresReads(read: PostgresQuery, seal: BodySeal): RecordReads {
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
      const sql = `${HEADS} AND c.patient = $1 AND c.domain = $2 AND c.audience = $3`
      const [row] = await read<JoinedColumns>(sql, [patient, domain, audience])
      return row === undefined ? undefined : headOfRow(row)
    },
    erased: async () =>
      (await read<{ readonly chain: string }>('SELECT chain FROM care.erasures')).map(({ chain }) =>
        namesOfChain(chain),
      ),
    versions: async ({ slot, after, limit }) => {
      const { audience, domain, patient } = slot
      const sql = `SELECT ${CHAIN_COLUMNS}, ${VERSION_COLUMNS} FROM care.chains c
        JOIN ${tableOf(audience)} v ON v.chain = c.id
        WHERE c.audience = $1 AND c.patient = $2 AND c.domain = $3 AND c.erased_leaves IS NULL
          AND v.version > $4
        ORDER BY v.version LIMIT $5`
      const values = [audience, patient, domain, after, limit]
      const rows = await read<ChainColumns & VersionColumns>(sql, values)
      return rows.flatMap((row) => recordOfRow(foundVersion(row).row, { slot, seal }) ?? [])
    },
    ...createPostgresLists(read, headOfRow),
  }
}

/** The lists of the store. */
const createPostgresLists = (
  read: PostgresQuery,
  headOfRow: (row: JoinedColumns) => ChainHead,
): Pick<RecordReads, 'heads' | 'names' | 'changedChains' | 'written'> => ({
  written: async (query) => await writtenOf(read, query),
  heads: async ({ reach, after = 0, limit }) =>
    (
      await read<JoinedColumns>(
        `${HEADS} AND c.id IN (SELECT c.id FROM ${CHAINS_WITHIN} ORDER BY c.id LIMIT $4) ORDER BY c.id`,
        [...withinValues(reach), after, limit],
      )
    ).map(headOfRow),
  names: async (query) => namesOf(read, query),
  changedChains: async ({ reach, sinceIso, after = 0, limit }) => {
    const values = [...withinValues(reach), after, null, sinceIso, limit]
    type Row = ChainColumns & { readonly first_since: number }
    return (await read<Row>(CHANGED_CHAINS, values)).map((row) => ({
      ...slotOfChain(wholeChainOf(row)),
      sequence: row.id,
      latestVersion: row.latest_version,
      firstSince: row.first_since,
    }))
  },
})

type WrittenRow = {
  readonly at: number
  readonly patient: string
  readonly domain: string
  readonly version: number
  readonly leaf_hash: Buffer
}

/** The versions behind one: by the order of leaves, or by the chains of each patient of a narrowed reach. */
async function writtenOf(
  read: PostgresQuery,
  { audience, behind, limit, reach }: Parameters<RecordStore['written']>[0],
): Promise<readonly WrittenVersion[] | undefined> {
  const table = tableOf(audience)
  let after = -1
  if (behind !== undefined) {
    const [row] = await read<Pick<WrittenRow, 'at' | 'leaf_hash'>>(
      `SELECT v.at, v.leaf_hash FROM care.chains c JOIN ${table} v ON v.chain = c.id
       WHERE c.audience = $1 AND c.patient = $2 AND c.domain = $3 AND v.version = $4`,
      [audience, behind.patient, behind.domain, behind.version],
    )
    if (row === undefined || markOf(row.leaf_hash.toString('hex')) !== behind.mark) return undefined
    after = row.at
  }
  const patients = patientsWithin(reach, audience)
  const columns = 'v.at, c.patient, c.domain, v.version, v.leaf_hash'
  const rows =
    patients === undefined
      ? await read<WrittenRow>(
          `SELECT ${columns} FROM ${table} v JOIN care.chains c ON c.id = v.chain
           WHERE v.at > $1 AND c.erased_leaves IS NULL ORDER BY v.at LIMIT $2`,
          [after, limit],
        )
      : // Each chain by its own index, so that no time is spent on those of others.
        await read<WrittenRow>(
          `SELECT ${columns} FROM care.chains c, LATERAL (
             SELECT * FROM ${table} WHERE chain = c.id AND at > $1 ORDER BY version LIMIT $2
           ) v WHERE c.audience = $3 AND c.patient = ANY ($4) AND c.erased_leaves IS NULL
           ORDER BY v.at LIMIT $2`,
          [after, limit, audience, patients],
        )
  return rows.map(({ domain, leaf_hash, patient, version }) => ({
    patient,
    domain,
    audience,
    version,
    mark: markOf(leaf_hash.toString('hex')),
  }))
}

/** A reach as two columns. */
const withinValues = (reach: readonly Reach[]) => [
  reach.map(({ audience }) => audience),
  reach.map(({ patient }) => patient ?? null),
]

/** The chains after one, of each part of a reach, in its index's order: $1 and $2 are the reach, $3 the chain, $4 how many. */
const CHAINS_WITHIN = `unnest($1::text[], $2::text[]) AS part (audience, patient), LATERAL (
    (SELECT * FROM care.chains o WHERE part.patient IS NULL AND o.audience = part.audience
      AND o.id > $3 AND o.erased_leaves IS NULL ORDER BY o.id LIMIT $4)
    UNION ALL
    (SELECT * FROM care.chains o WHERE o.audience = part.audience AND o.patient = part.patient
      AND o.id > $3 AND o.erased_leaves IS NULL ORDER BY o.id LIMIT $4)
  ) c`

const firstSince = (audience: Audience): string =>
  `(SELECT min(version) FROM ${tableOf(audience)} WHERE chain = c.id AND written_at >= $5)`

const CHANGED_CHAINS = `SELECT * FROM (
    SELECT ${CHAIN_COLUMNS},
      CASE c.audience WHEN 'user' THEN ${firstSince('user')} ELSE ${firstSince('assistant')} END AS first_since
    FROM ${CHAINS_WITHIN}
  ) changed WHERE first_since IS NOT NULL ORDER BY id LIMIT $6`

/** The least name from a text on, then the least after each: as many steps in an index as there are names to give. */
const namesSql = (name: string, where: string): string => `WITH RECURSIVE step (name) AS (
    (SELECT min(${name}) FROM care.chains WHERE ${where} AND ${name} >= $1)
    UNION ALL
    SELECT (SELECT min(${name}) FROM care.chains WHERE ${where} AND ${name} > step.name)
    FROM step WHERE step.name IS NOT NULL AND starts_with(step.name, $1)
  ) SELECT name FROM step WHERE starts_with(name, $1) LIMIT $2`

async function namesOf(read: PostgresQuery, query: NamesQuery): Promise<readonly string[]> {
  const { limit, of, prefix, reach } = query
  const namesIn = async ({ audience, patient }: Reach): Promise<readonly string[]> => {
    if (patient !== undefined && of === 'patient' && !patient.startsWith(prefix)) return []
    const isOfPatient = patient !== undefined
    const where = `erased_leaves IS NULL AND audience = $3${isOfPatient ? ' AND patient = $4' : ''}`
    const values = [isOfPatient && of === 'patient' ? patient : prefix, limit, audience]
    const rows = await read<{ readonly name: string }>(namesSql(of, where), [
      ...values,
      ...(isOfPatient ? [patient] : []),
    ])
    return rows.map(({ name }) => name)
  }
  return inByteOrder((await Promise.all(reach.map(namesIn))).flat()).slice(0, limit)
}
