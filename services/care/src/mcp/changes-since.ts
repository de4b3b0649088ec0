/** What changed in a patient's records since a time, for the prompt and the tool of that name. */
import { parseIsoTime } from '@tallystick/service-kit/iso-time'
import type { CareRecord } from '../domain/care-record.ts'
import { retractionSentence } from '../domain/retraction.ts'
import type { ChangesQuery, ToolOutput } from '../wire/mcp.ts'
import { chainUri, versionUri } from '../wire/record-uri.ts'
import { RPC_CODES, RpcFailure } from './json-rpc.ts'
import { type CallContext, versionBefore, visibleAudiences } from './visible-records.ts'

/** Versions fetched by one store call. */
const PAGE_VERSIONS = 500
/** Most versions that one answer covers: far more than a host can read out. */
const VERSIONS_MAX = 10_000
/** Without a time, everything counts. */
const BEGINNING = '0000-01-01T00:00:00.000Z'

// The oldest come first, so an answer that stopped at a limit would present old values as the newest.
const tooMany = (): RpcFailure =>
  new RpcFailure(RPC_CODES.invalidParams, 'params.since: too many revisions since then')

async function versionsSince(
  context: CallContext,
  query: { readonly patient: string; readonly sinceIso: string },
): Promise<ReadonlyMap<string, CareRecord>> {
  const found = new Map<string, CareRecord>()
  let { sinceIso } = query
  let limit = PAGE_VERSIONS
  while (found.size < VERSIONS_MAX) {
    const page = await context.store.changesSince({
      patient: query.patient,
      audiences: visibleAudiences(context),
      sinceIso,
      limit,
    })
    const sizeBefore = found.size
    for (const record of page) found.set(versionUri(record, record.version), record)
    const last = page.at(-1)
    if (last === undefined || page.length < limit) return found
    // A page that brings nothing new lies within one moment; a larger page gets past it.
    if (found.size === sizeBefore) limit *= 2
    sinceIso = last.writtenAt
  }
  throw tooMany()
}

/**
 * The versions of a chain from the first one written since, to the newest. Versions in between that were not found by
 * time are looked up, since a clock that was set back gives a later version an earlier time. Broken ones are left out.
 */
async function versionsTo(
  newest: CareRecord,
  found: readonly [CareRecord, ...CareRecord[]],
  { store }: CallContext,
): Promise<readonly [CareRecord, ...CareRecord[]]> {
  const known = new Map(found.map((record) => [record.version, record]))
  const first = found.reduce((left, right) => (left.version < right.version ? left : right))
  if (newest.version - first.version > VERSIONS_MAX) throw tooMany()
  const all: [CareRecord, ...CareRecord[]] = [first]
  for (let version = first.version + 1; version < newest.version; version += 1) {
    const read = known.has(version) ? undefined : await store.version(newest, version)
    const record = read?.kind === 'found' ? read.record : known.get(version)
    if (record !== undefined) all.push(record)
  }
  if (newest.version > first.version) all.push(newest)
  return all
}

/** What changed in one record, as the tool answers it but without its age. */
type ChangedRecord = Omit<ToolOutput<'whats_changed'>['changed'][number], 'age'> & {
  /** The newest version. */
  readonly record: CareRecord
}

export type PatientChanges = {
  readonly changed: readonly ChangedRecord[]
  /** Versions written since, across all records. */
  readonly revisions: number
  /** URIs of records whose newest version does not hold: nothing is said about them, least of all an older value. */
  readonly failed: readonly string[]
}

/** What changed for a patient since a time, record by record, as far as the caller may see. */
export async function changesSince(
  context: CallContext,
  query: ChangesQuery,
): Promise<PatientChanges> {
  const sinceMs = query.since === undefined ? undefined : parseIsoTime(query.since)
  const sinceIso = sinceMs === undefined ? BEGINNING : new Date(sinceMs).toISOString()
  const versions = await versionsSince(context, { patient: query.patient, sinceIso })
  const byChain = new Map<string, [CareRecord, ...CareRecord[]]>()
  for (const record of versions.values()) {
    const uri = chainUri(record)
    const known = byChain.get(uri)
    if (known === undefined) byChain.set(uri, [record])
    else known.push(record)
  }
  const changed: ChangedRecord[] = []
  const failed: string[] = []
  for (const [uri, [first, ...rest]] of byChain) {
    const latest = await context.store.latest(first)
    if (latest.kind !== 'found') {
      failed.push(uri)
      continue
    }
    const since = await versionsTo(latest.record, [first, ...rest], context)
    const before = await versionBefore(context, since[0])
    changed.push(changedRecord({ before, since }))
  }
  return { changed, revisions: changed.reduce((sum, one) => sum + one.revisions, 0), failed }
}

/** Sums up one chain: the versions written since, in ascending order, and the one before them, if any. */
export function changedRecord({
  before,
  since,
}: {
  readonly before: CareRecord | undefined
  readonly since: readonly [CareRecord, ...CareRecord[]]
}): ChangedRecord {
  const versions = before === undefined ? since : [before, ...since]
  const record = versions.at(-1) ?? since[0]
  const previousValue = versions.at(-2)?.value
  const past = versions.slice(0, -1).map(({ value }) => value)
  return {
    record,
    uri: chainUri(record),
    domain: record.domain,
    audience: record.audience,
    version: record.version,
    revisions: since.length,
    value: record.value,
    previousValue: previousValue ?? null,
    withdrawn: [...new Set(past)].filter((value) => value !== record.value),
    authorLabel: record.authorLabel,
    writtenAt: record.writtenAt,
    retraction:
      previousValue === undefined ? undefined : retractionSentence({ ...record, previousValue }),
  }
}
