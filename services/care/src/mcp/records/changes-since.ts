/**
 * What changed in a patient's records since a time, for the prompt and the tool of that name: for each record the value that
 * held then, every value withdrawn since, and the one that holds now. An incomplete answer names the cursor after which the
 * next one continues; on every page, the newest value is the one that holds.
 */
import { parseIsoTime } from '@tallystick/service-kit/clock'
import type { CareRecord } from '../../domain/care-record.ts'
import type { ChangedChain } from '../../domain/record-store.ts'
import { retractionSentence } from '../../domain/retraction.ts'
import { reachWithin, readReach } from '../../domain/scopes.ts'
import type { ChangesQuery, ToolOutput } from '../../wire/mcp.ts'
import { type ChainSlot, chainUri } from '../../wire/record-uri.ts'
import {
  type CallContext,
  cursorBehind,
  inLanguage,
  noteHeard,
  noteRead,
  readCursor,
  withdrawalText,
} from './visible-records.ts'

/** Without a time, everything counts. */
const BEGINNING = '0000-01-01T00:00:00.000Z'

/** What changed in one record, as the tool answers it but without its age. */
export type ChangedRecord = Omit<
  ToolOutput<'whats_changed'>['changed'][number],
  'age' | 'ageWords'
> & {
  /** The newest version. */
  readonly record: CareRecord
}

export type ToldChanges = {
  readonly changed: readonly ChangedRecord[]
  /** Versions written since, across all records of this answer. */
  readonly revisions: number
  /** URIs of records whose newest version does not hold: nothing is said about them, least of all an older value. */
  readonly failed: readonly string[]
}

export type PatientChanges = ToldChanges & {
  /** Where the next page begins, if there is one. */
  readonly nextCursor: string | undefined
}

/** A page's chains in order of creation, each with the last version that earlier pages reported. */
async function chainsOfPage(context: CallContext, { patient, since, cursor }: ChangesQuery) {
  const sinceMs = since === undefined ? undefined : parseIsoTime(since)
  const sinceIso = sinceMs === undefined ? BEGINNING : new Date(sinceMs).toISOString()
  const reach = reachWithin(readReach(context.principal.scopes), patient)
  const begin = cursor === undefined ? undefined : await readCursor(context, cursor)
  const sequence = begin?.head.sequence ?? 0
  const toldTo = begin?.version
  const after = toldTo === undefined ? sequence : sequence - 1
  const limit = context.limits.pageChains + 1
  const chains =
    reach.length === 0 ? [] : await context.store.changedChains({ reach, sinceIso, after, limit })
  const versionTold = (chain: ChangedChain) => (chain.sequence === sequence ? (toldTo ?? 0) : 0)
  return { chains, versionTold }
}

/**
 * What changed in a chain from the version `firstSince`; earlier pages reported up to `after`. At most `limit` versions.
 * Undefined if its newest version does not hold.
 */
export async function changeOfChain(
  context: CallContext,
  slot: ChainSlot,
  range: { readonly firstSince: number; readonly after: number; readonly limit: number },
): Promise<ChangedRecord | undefined> {
  const latest = await context.store.latest(slot)
  if (latest.kind !== 'found') return undefined
  noteHeard(context, latest.record)
  const { after, firstSince, limit } = range
  const since = await context.store.versions({ slot, after, limit })
  const readVersion = async (version: number): Promise<CareRecord | undefined> => {
    if (version < 1) return undefined
    const read = await context.store.version(slot, version)
    return read.kind === 'found' ? read.record : undefined
  }
  const valid = await readVersion(firstSince - 1)
  const lastTold = after < firstSince ? valid : await readVersion(after)
  return changedRecord({ newest: inLanguage(context, latest.record), valid, lastTold, since })
}

/** What changed for a patient since a time, record by record, as far as the caller may see. */
export async function changesSince(
  context: CallContext,
  query: ChangesQuery,
): Promise<PatientChanges> {
  const { pageChains, pageVersions } = context.limits
  const { chains, versionTold } = await chainsOfPage(context, query)
  const changed: ChangedRecord[] = []
  const failed: string[] = []
  let room = pageVersions
  let nextCursor: string | undefined
  for (const [at, chain] of chains.entries()) {
    const previous = chains[at - 1]
    if (previous !== undefined && (at === pageChains || room <= 0)) {
      nextCursor = cursorBehind(previous)
      break
    }
    const { firstSince } = chain
    const after = Math.max(versionTold(chain), firstSince - 1)
    const change = await changeOfChain(context, chain, { firstSince, after, limit: room })
    if (change === undefined) {
      failed.push(chainUri(chain))
      continue
    }
    changed.push(change)
    if (after + room < chain.latestVersion) {
      nextCursor = cursorBehind(chain, after + room)
      break
    }
    room -= chain.latestVersion - after
  }
  const revisions = changed.reduce((sum, each) => sum + each.revisions, 0)
  for (const { uri } of changed) noteRead(context, 'served', uri)
  for (const uri of failed) noteRead(context, 'broken', uri)
  return { changed, revisions, failed, nextCursor }
}

export function changedRecord(parts: {
  readonly newest: CareRecord
  /** The version that was valid at that time. */
  readonly valid: CareRecord | undefined
  /** The version before the first of `since`. */
  readonly lastTold: CareRecord | undefined
  /** Versions written since, in ascending order, all or a part of them. */
  readonly since: readonly CareRecord[]
}): ChangedRecord {
  const { lastTold, newest, since, valid } = parts
  const values = [...(lastTold === undefined ? [] : [lastTold]), ...since].map(({ value }) => value)
  // If a record is newer than that time, the listener holds the value before the newest, if any.
  const previousValue = valid === undefined ? values.at(-2) : valid.value
  const past = valid === undefined ? values : [valid.value, ...values]
  const gone = [...new Set(past)].filter((value) => value !== newest.value)
  const corrections = values.filter((value, at) => at > 0 && value !== values[at - 1]).length
  return {
    record: newest,
    uri: chainUri(newest),
    domain: newest.domain,
    audience: newest.audience,
    version: newest.version,
    revisions: since.length,
    corrections,
    value: newest.value,
    status: newest.status,
    withdrawal: withdrawalText(newest),
    previousValue: previousValue || null,
    withdrawn: gone.filter((value) => value !== ''),
    authorLabel: newest.authorLabel,
    language: newest.language,
    writtenAt: newest.writtenAt,
    retraction:
      previousValue === undefined
        ? undefined
        : retractionSentence({ ...newest, previousValue, withdrawn: gone, corrections }),
  }
}
