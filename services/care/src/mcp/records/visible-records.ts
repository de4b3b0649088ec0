/**
 * What a caller may see of the records, and how one version is shown: its text with its age, and the facts about it.
 * Everything that serves a value (reads, prompts, tools) goes through `readVisible` and these functions, so that hidden
 * and absent records take the same path, and a broken one is never shown.
 */
import type { Clock } from '@tallystick/service-kit'
import { RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import type { CareRecord, ReadRow } from '../../domain/care-record.ts'
import type { RecordStore } from '../../domain/record-store.ts'
import {
  retractionSentence,
  supersededSentence,
  withdrawnSentence,
} from '../../domain/retraction.ts'
import { isWriter, mayRead, type Principal, type Reach } from '../../domain/scopes.ts'
import { ageLine, ageWords, isStale } from '../../domain/staleness.ts'
import type { UnheardCorrections } from '../../domain/unheard-corrections.ts'
import {
  audioUri,
  type ChainSlot,
  chainUri,
  parseRecordUri,
  type RecordUri,
  versionUri,
} from '../../wire/record-uri.ts'
import type { RecordMeta } from '../../wire/records.ts'
import { valueText } from '../../wire/text-of-others.ts'
import type { McpLimits } from '../sessions/limits.ts'
import type { McpSession } from '../sessions/mcp-session.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
import type { createChangeCursors } from './change-cursors.ts'
import type { RecordAudio } from './record-audio.ts'
import type { RecordIndex } from './record-index.ts'

export type McpServices = {
  readonly store: RecordStore
  readonly clock: Clock
  /** Absent if there is no speech program. */
  readonly audio: RecordAudio | undefined
  readonly serviceName: string
  readonly version: string
  readonly limits: McpLimits
  readonly changeCursors: ReturnType<typeof createChangeCursors>
  readonly recordIndex: RecordIndex
  /** Of records that name none (LANGUAGE); undefined if nobody has said it. */
  readonly language?: string | undefined
  /** By whose calendar a day is "yesterday" (TIME_ZONE); UTC by default. */
  readonly timeZone?: string | undefined
  /** Address of `/verify`, where anyone may open it. */
  readonly verifyUrl: string | undefined
  readonly unheard: Pick<UnheardCorrections, 'heard'>
  /** Called for each record that is read, or requested without success; absent if no trail is kept. */
  readonly noteRead?: ((row: ReadRow) => void) | undefined
}

/** A request. The scopes of its principal decide what it may see. */
export type CallContext = McpServices & {
  /** As the request's own token says. */
  readonly principal: Principal
  /** The method by which the caller asks. */
  readonly way?: string
}

/** A request in a session, as MCP 2025-11-25 has it. */
export type SessionContext = CallContext & {
  readonly session: McpSession
  readonly registry: SessionRegistry
}

/** Records what a caller was given, or requested without success: of what it may not see, only that it asked. */
export function noteRead(
  { noteRead: note, principal, way = '' }: CallContext,
  outcome: ReadRow['outcome'],
  uri: string,
): void {
  note?.({ actor: principal.sub, way, outcome, uri })
}

export type VisibleRecord = Extract<Awaited<ReturnType<typeof readVisible>>, { kind: 'found' }>

/**
 * The outcome of a read as far as the caller may know it, with what to say first: of an older version that it was replaced, and
 * of a value that changed what it takes back. `absent` means missing or not for this caller.
 */
export async function readVisible(context: CallContext, uri: RecordUri) {
  const outcome = await readAllowed(context, uri)
  const { kind } = outcome
  const said = kind === 'found' ? 'served' : kind === 'broken' ? kind : 'not_found'
  noteRead(
    context,
    said,
    kind === 'found' ? versionUri(outcome.record, outcome.record.version) : canonicalUri(uri),
  )
  return outcome
}

/** A record in its own language, or the service's where it names none (C37). */
export const inLanguage = (
  { language }: Pick<CallContext, 'language'>,
  record: CareRecord,
): CareRecord =>
  record.language === undefined && language !== undefined ? { ...record, language } : record

/** Withdrawals in a row that are looked behind, each with a read: more is nobody's second thought about a mistake. */
const WITHDRAWALS_MAX = 8

/** The version before, or before a withdrawn one that is withdrawn again the last that said something: it is what people hold. */
async function findHeard(
  store: Pick<CallContext['store'], 'version'>,
  read: {
    readonly record: CareRecord
    readonly previous: CareRecord | undefined
    readonly slot: RecordUri['slot']
  },
): Promise<CareRecord | undefined> {
  let found = read.previous
  for (let looked = 0; looked < WITHDRAWALS_MAX; looked += 1) {
    const { status } = read.record
    if (status === undefined || found?.status === undefined || found.version === 1) return found
    const before = await store.version(read.slot, found.version - 1)
    found = before.kind === 'found' ? before.record : undefined
  }
  return found
}

async function readAllowed(context: CallContext, uri: RecordUri) {
  const { principal, store } = context
  const { slot, version } = uri
  // A refused read never reaches the store: timing cannot reveal whether the record exists (C30).
  if (!mayRead(principal.scopes, slot)) return { kind: 'absent' as const }
  const outcome = await (version === undefined ? store.latest(slot) : store.version(slot, version))
  if (outcome.kind !== 'found') return { kind: outcome.kind }
  const record = inLanguage(context, outcome.record)
  const shown = { record, previous: await findHeard(store, { ...outcome, slot }) }
  if (record.version === outcome.latestVersion) {
    noteHeard(context, record)
    return visibleVersion(context, shown, { version: record.version, record })
  }
  const newest = await store.latest(slot)
  // Erased since.
  if (newest.kind === 'absent') return { kind: newest.kind }
  return newest.kind === 'found'
    ? visibleVersion(context, shown, {
        version: newest.latestVersion,
        record: inLanguage(context, newest.record),
      })
    : visibleVersion(context, shown, { version: newest.version, record: undefined })
}

/** A version as it is shown, beside the newest one, whose record is undefined if it does not hold. */
function visibleVersion(
  { clock, timeZone }: CallContext,
  { record, previous }: { readonly record: CareRecord; readonly previous: CareRecord | undefined },
  newest: { readonly version: number; readonly record: CareRecord | undefined },
) {
  const previousValue = previous?.value
  const hasChanged = previousValue !== undefined && previousValue !== record.value
  const now = newest.record
  return {
    kind: 'found' as const,
    record,
    latestVersion: newest.version,
    newestLanguage: now?.language,
    previousValue,
    superseded:
      record.version === newest.version
        ? undefined
        : supersededSentence(record, newest, { nowMs: clock.unixMs(), timeZone }),
    // It takes back what this version did, and this version too if it no longer holds.
    retraction:
      hasChanged && now !== undefined
        ? retractionSentence({ ...now, previousValue, withdrawn: [record.value] })
        : undefined,
  }
}

/** The newest version was served. A writer reads only to see what is stored, so that does not count as heard. */
export function noteHeard({ principal, unheard }: CallContext, newest: CareRecord): void {
  if (!isWriter(principal.scopes)) unheard.heard(chainUri(newest), newest.version)
}

/** What is said in place of a value by a version that withdraws its record (C40). */
export const withdrawalText = ({ language, status }: CareRecord): string | undefined =>
  status && withdrawnSentence({ status, language })

/** The text of a read: value, newline, age line (C10); of an older version first that it was replaced (C34). Encoded (C45). */
export function recordText(
  { clock, timeZone }: CallContext,
  { record, superseded }: VisibleRecord,
): string {
  const said = withdrawalText(record) ?? valueText(record.value)
  const lines = [said, ageLine(record, clock.unixMs(), timeZone)]
  return [...(superseded === undefined ? [] : [superseded]), ...lines].join('\n')
}

/** The retraction while a listener may still hold the old value: the texts of a read say it no longer than that (C29). */
export function retractionToSay(
  { clock, limits }: CallContext,
  { record, retraction }: VisibleRecord,
): string | undefined {
  const ageMs = Math.max(0, clock.unixMs() - Date.parse(record.writtenAt))
  return ageMs < limits.retractionMs ? retraction : undefined
}

/** MCP's annotations of a record (C11). Priority is clamped to MCP's 0–1; `_meta` has it as written. */
export function recordAnnotations(
  record: Pick<CareRecord, 'audience' | 'writtenAt' | 'priority'>,
): object {
  const { audience, writtenAt, priority } = record
  return {
    audience: [audience],
    lastModified: writtenAt,
    priority: priority === undefined ? undefined : Math.min(1, Math.max(0, priority)),
  }
}

/** The `_meta` of a read (C10): the record's URI and every fact about the version, its raw value, and what it corrects. */
export function recordMeta(context: CallContext, visible: VisibleRecord): RecordMeta {
  const { record, latestVersion, retraction } = visible
  const { version, versionHash, prevHash, writtenAt, authorId, authorLabel, status, value } = record
  const nowMs = context.clock.unixMs()
  return {
    uri: chainUri(record),
    version,
    versionHash,
    prevHash,
    writtenAt,
    authorId,
    authorLabel,
    audience: record.audience,
    value,
    status,
    stale: isStale(record, nowMs),
    staleAfter: record.staleAfter,
    priority: record.priority,
    language: record.language,
    supersededBy: version === latestVersion ? undefined : latestVersion,
    [`${context.serviceName}/age`]: ageWords(record, nowMs, context.timeZone),
    [`${context.serviceName}/retraction`]: retraction,
  }
}

/** The canonical spelling of a URI, used in answers to reads and for subscriptions. */
export function canonicalUri({ slot, version, isAudio }: RecordUri): string {
  if (version === undefined) return chainUri(slot)
  return isAudio ? audioUri(slot, version) : versionUri(slot, version)
}

/** The one answer to a cursor that this service has not given to its caller. */
export const unknownCursor = (): RpcFailure =>
  new RpcFailure(RPC_CODES.invalidParams, 'params.cursor: unknown cursor')

/**
 * Where a cursor continues. It names the last chain of its page, which its reader has seen, and
 * not its number, since gaps between numbers would reveal how many hidden chains lie between. A hidden and an unknown
 * chain in it are the same bad cursor.
 */
export async function readCursor(context: CallContext, cursor: string) {
  const parsed = parseRecordUri(Buffer.from(cursor, 'base64url').toString('utf8'))
  const isSeen = parsed !== undefined && mayRead(context.principal.scopes, parsed.slot)
  const head = isSeen ? await context.store.head(parsed.slot) : undefined
  if (head === undefined) throw unknownCursor()
  return { head, version: parsed?.version }
}

/** The cursor behind a chain, or behind one of its versions. */
export const cursorBehind = (slot: ChainSlot, version?: number): string =>
  Buffer.from(version === undefined ? chainUri(slot) : versionUri(slot, version)).toString(
    'base64url',
  )

/** Reads the page after a cursor, or the first page, in order of creation. */
export async function readChainPage(
  context: CallContext,
  query: {
    readonly reach: readonly Reach[]
    readonly cursor?: string | undefined
    readonly wantsRecords?: boolean
  },
) {
  const { pageChains } = context.limits
  const { cursor, reach, wantsRecords } = query
  const after = cursor === undefined ? undefined : (await readCursor(context, cursor)).head.sequence
  // One more than the page, to find out whether there is another.
  const found =
    reach.length === 0
      ? []
      : await context.store.heads({ reach, limit: pageChains + 1, after, wantsRecords })
  const heads = found.slice(0, pageChains)
  const last = heads.at(-1)
  const isLast = found.length === heads.length || last === undefined
  const nextCursor = isLast ? undefined : cursorBehind(last)
  return { heads, nextCursor }
}
