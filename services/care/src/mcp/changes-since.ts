import type { CareRecord } from '../domain/care-record.ts'
import { type ChangedRecord, changedRecord } from '../domain/changed-record.ts'
import { isoTimeMs } from '../domain/iso-time.ts'
import { chainUri, versionUri } from '../domain/record-uri.ts'
import { type CallContext, visibleAudiences } from './call-context.ts'
import { RPC_CODES, RpcFailure } from './json-rpc.ts'

/** Versions that one store call brings. */
const PAGE_VERSIONS = 500
/** Versions that one answer covers at most: far more than a host can read out. */
const VERSIONS_MAX = 10_000
/** Where no time is given, everything counts. */
const BEGINNING = '0000-01-01T00:00:00.000Z'

async function versionsSince(
  context: CallContext,
  query: { readonly patient: string; readonly sinceIso: string },
): Promise<ReadonlyMap<string, CareRecord>> {
  const found = new Map<string, CareRecord>()
  let { sinceIso } = query
  while (found.size < VERSIONS_MAX) {
    const page = await context.store.changesSince({
      patient: query.patient,
      audiences: visibleAudiences(context),
      sinceIso,
      limit: PAGE_VERSIONS,
    })
    const sizeBefore = found.size
    for (const record of page) found.set(versionUri(record, record.version), record)
    const last = page.at(-1)
    // A page that is not full is the last; one that brings nothing new cannot be followed.
    if (last === undefined || page.length < PAGE_VERSIONS || found.size === sizeBefore) break
    sinceIso = last.writtenAt
  }
  if (found.size >= VERSIONS_MAX)
    // Oldest come first: an answer that stopped here would present old values as the newest.
    throw new RpcFailure(RPC_CODES.invalidParams, 'params.since: too many revisions since then')
  return found
}

async function versionBefore(
  { store }: CallContext,
  record: CareRecord,
): Promise<CareRecord | undefined> {
  if (record.version < 2) return undefined
  const before = await store.version(record, record.version - 1)
  return before.kind === 'found' ? before.record : undefined
}

/** What changed for a patient. */
export type PatientChanges = {
  readonly changed: readonly ChangedRecord[]
  /** URIs of records whose newest version does not hold: nothing is said of them, least of all an older value. */
  readonly failed: readonly string[]
}

/** What changed for a patient since a time, record by record, as far as the caller may see. */
export async function changesSince(
  context: CallContext,
  query: { readonly patient: string; readonly since?: string | undefined },
): Promise<PatientChanges> {
  const sinceMs = query.since === undefined ? undefined : isoTimeMs(query.since)
  const sinceIso = sinceMs === undefined ? BEGINNING : new Date(sinceMs).toISOString()
  const versions = await versionsSince(context, { patient: query.patient, sinceIso })
  const byChain = new Map<string, CareRecord[]>()
  for (const record of versions.values()) {
    const uri = chainUri(record)
    byChain.set(uri, [...(byChain.get(uri) ?? []), record])
  }
  const changed: ChangedRecord[] = []
  const failed: string[] = []
  for (const [uri, records] of byChain) {
    const [first, ...rest] = records.toSorted((left, right) => left.version - right.version)
    if (first === undefined) continue
    if ((await context.store.latest(first)).kind !== 'found') {
      failed.push(uri)
      continue
    }
    const before = await versionBefore(context, first)
    changed.push(changedRecord({ before, since: [first, ...rest] }))
  }
  return { changed, failed }
}
