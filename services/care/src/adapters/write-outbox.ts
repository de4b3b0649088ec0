// The outbox of writes: one row for each version, made in the transaction that makes the version, numbered in the order of
// commits, and kept for some days. A row only names a version.
import type { CareRecord } from '../domain/care-record.ts'
import type { RecordStore } from '../domain/record-store.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import type { RecordSource } from './record-sql.ts'

/** Longer than any subscription lives without a refresh, so that none ever misses a row. */
const WRITES_KEPT_MS = 7 * 86_400_000
/** Rows that one transaction deletes, so that none gets long. */
const FORGOTTEN_PER_COMMIT = 1_000

/** The newest row always stays: the next one's number follows it. */
const FORGET = `DELETE FROM writes WHERE sequence IN (SELECT sequence FROM writes WHERE at_ms < $1
  AND sequence < (SELECT max(sequence) FROM writes) ORDER BY at_ms LIMIT ${FORGOTTEN_PER_COMMIT})`

/** The last one is the newest row older than a time. */
const BOUNDS = `SELECT coalesce((SELECT min(sequence) FROM writes), 0), coalesce((SELECT max(sequence) FROM writes), 0),
  coalesce((SELECT sequence FROM writes WHERE at_ms < $1 ORDER BY at_ms DESC, sequence DESC LIMIT 1), 0)`

const writesSql = (where: string): string =>
  `SELECT sequence, audience, patient, domain, version FROM writes
   WHERE sequence > $1 AND audience IN ($2, $3) ${where} ORDER BY sequence LIMIT $4`

/** Indexed by the number of names given: none, a patient, or a patient and a domain. */
const AFTER = [
  writesSql(''),
  writesSql('AND patient = $5'),
  writesSql('AND patient = $5 AND domain = $6'),
] as const

/** The rows of new versions, in their order. */
export const outboxRows = (
  written: readonly CareRecord[],
  nowMs: number,
): readonly (readonly unknown[])[] =>
  written.map(({ audience, domain, patient, version }) => [
    audience,
    patient,
    domain,
    version,
    nowMs,
  ])

/** Within a transaction: deletes rows that are too old. */
export const forgetWrites = (
  send: (text: string, values: readonly unknown[]) => void,
  nowMs: number,
): void => send(FORGET, [nowMs - WRITES_KEPT_MS])

/** The outbox of a store. */
export const createOutbox = ({ ask }: RecordSource) =>
  ({
    writesAfter: async ({ after, audiences = AUDIENCES, domain, limit, patient }) => {
      const [first = 'user', second = first] = audiences
      const names =
        patient === undefined ? [] : [patient, domain].filter((name) => name !== undefined)
      type Row = readonly [number, Audience, string, string, number]
      const text = AFTER[names.length] ?? AFTER[0]
      const rows = await ask<Row>(text, [after, first, second, limit, ...names])
      return rows.map(([sequence, audience, of, topic, version]) => ({
        sequence,
        audience,
        patient: of,
        domain: topic,
        version,
      }))
    },
    writeBounds: async (beforeMs) => {
      const [row] = await ask<readonly [number, number, number]>(BOUNDS, [beforeMs])
      const [first, last, before] = row ?? [0, 0, 0]
      return { first, last, before }
    },
  }) satisfies Partial<RecordStore>
