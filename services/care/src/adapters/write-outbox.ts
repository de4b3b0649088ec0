// The outbox of writes: one row for each version, made in the transaction that makes the version, numbered in the order of
// commits, and kept for some days. A row names a version and says nothing of it. Both engines' SQL stands here.
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from '@tallystick/journal-store'
import type { PostgresQuery } from '@tallystick/journal-store/postgres'
import type { CareRecord } from '../domain/care-record.ts'
import type { RecordStore, WritesQuery } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { guarded } from './sqlite-record-database.ts'

/** Longer than any subscription lives without a refresh, so that none ever misses a row. */
const WRITES_KEPT_MS = 7 * 86_400_000
/** Rows that one transaction takes out, so that none gets long. */
const FORGOTTEN_PER_COMMIT = 1_000

type Outbox = Pick<RecordStore, 'writesAfter' | 'writeBounds'>

const COLUMNS = 'sequence, audience, patient, domain, version'
const AUDIENCES: readonly Audience[] = ['user', 'assistant']

/** The newest row always stays: the next one's number follows it. */
const forget = (table: string, time: string): string =>
  `DELETE FROM ${table} WHERE sequence IN (SELECT sequence FROM ${table} WHERE at_ms < ${time}
     AND sequence < (SELECT max(sequence) FROM ${table}) ORDER BY at_ms LIMIT ${FORGOTTEN_PER_COMMIT})`

/** `before` is the newest row older than a time. */
const bounds = (table: string, time: string): string =>
  `SELECT coalesce((SELECT min(sequence) FROM ${table}), 0) AS first, coalesce((SELECT max(sequence) FROM ${table}), 0) AS last,
     coalesce((SELECT sequence FROM ${table} WHERE at_ms < ${time} ORDER BY at_ms DESC, sequence DESC LIMIT 1), 0) AS before`

/** The outbox in a file. */
export function createSqliteOutbox(database: DatabaseSync) {
  type Row = readonly [number, Audience, string, string, number]
  const rows = (where: string) =>
    prepareQuery<Row>(
      database,
      `SELECT ${COLUMNS} FROM writes WHERE ${where} AND sequence > ? AND audience IN (?, ?) ORDER BY sequence LIMIT ?`,
    )
  const all = rows('true')
  const ofPatient = rows('patient = ?')
  const ofChain = rows('patient = ? AND domain = ?')
  const boundsAt = prepareQuery<readonly [number, number, number]>(database, bounds('writes', '?'))
  const insert = database.prepare(
    'INSERT INTO writes (audience, patient, domain, version, at_ms) VALUES (?, ?, ?, ?, ?)',
  )
  const forgetRows = database.prepare(forget('writes', '?'))
  const find = ({ after, audiences = AUDIENCES, domain, limit, patient }: WritesQuery) => {
    const [first = 'user', second = first] = audiences
    const rest = [after, first, second, limit] as const
    if (patient === undefined) return all.all(...rest)
    return domain === undefined
      ? ofPatient.all(patient, ...rest)
      : ofChain.all(patient, domain, ...rest)
  }
  const reads: Outbox = {
    writesAfter: guarded(async (query) =>
      find(query).map(([sequence, audience, patient, domain, version]) => ({
        sequence,
        audience,
        patient,
        domain,
        version,
      })),
    ),
    writeBounds: guarded(async (beforeMs) => {
      const [first, last, before] = boundsAt.get(beforeMs) ?? [0, 0, 0]
      return { first, last, before }
    }),
  }
  return {
    ...reads,
    /** Within the transaction of the version. */
    add: ({ audience, domain, patient, version }: CareRecord, atMs: number): void =>
      void insert.run(audience, patient, domain, version, atMs),
    /** Within a transaction: takes out what is too old. */
    forget: (nowMs: number): void => void forgetRows.run(nowMs - WRITES_KEPT_MS),
  }
}

/** The last row's number, read under the lock of the heads. */
export const LAST_WRITE = 'SELECT coalesce(max(sequence), 0) AS last FROM care.writes'

const KEEP_WRITES = `INSERT INTO care.writes (${COLUMNS}, at_ms)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])`

/** Within a group's transaction: adds rows for its versions behind a number, and takes out what is too old. */
export function keepWrites(
  send: (text: string, values: readonly unknown[]) => void,
  of: { readonly records: readonly CareRecord[]; readonly after: number; readonly nowMs: number },
): void {
  const { after, nowMs, records } = of
  if (records.length > 0)
    send(KEEP_WRITES, [
      records.map((_, at) => after + at + 1),
      records.map(({ audience }) => audience),
      records.map(({ patient }) => patient),
      records.map(({ domain }) => domain),
      records.map(({ version }) => version),
      records.map(() => nowMs),
    ])
  send(forget('care.writes', '$1'), [nowMs - WRITES_KEPT_MS])
}

/** The outbox in a database. */
export const createPostgresOutbox = (read: PostgresQuery): Outbox => ({
  writesAfter: ({ after, audiences = AUDIENCES, domain, limit, patient }) => {
    const where = ['sequence > $1', 'audience = ANY ($2::text[])']
    const values: unknown[] = [after, audiences, limit]
    for (const [name, value] of Object.entries({ patient, domain }))
      if (value !== undefined) where.push(`${name} = $${values.push(value)}`)
    return read(
      `SELECT ${COLUMNS} FROM care.writes WHERE ${where.join(' AND ')} ORDER BY sequence LIMIT $3`,
      values,
    )
  },
  writeBounds: async (beforeMs) => {
    type Row = Awaited<ReturnType<Outbox['writeBounds']>>
    const [row] = await read<Row>(bounds('care.writes', '$1'), [beforeMs])
    return row ?? { first: 0, last: 0, before: 0 }
  },
})
