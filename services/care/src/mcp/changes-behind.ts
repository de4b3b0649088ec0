/**
 * What was written behind a cursor, for hosts that hear of nothing by themselves (C26): a place in the order of writing, not
 * a time, so that nothing is skipped, whatever clocks do. An answer that does not hold everything says so, and its cursor goes
 * on where it ends. The cursor names the last versions that its reader was told of, and not their numbers, which would reveal
 * how much is written that it may not see.
 */
import { RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import { z } from 'zod'
import type { CareRecord } from '../domain/care-record.ts'
import type { WrittenVersion } from '../domain/record-store.ts'
import { chainUri, parseRecordUri, versionUri } from '../wire/record-uri.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import { type ChangedRecord, changedRecord } from './changes-since.ts'
import {
  type CallContext,
  canSee,
  noteHeard,
  noteRead,
  versionBefore,
  visibleReach,
} from './visible-records.ts'

/** The last version told of each audience; none while nothing was told. */
type Place = { readonly [Name in Audience]?: WrittenVersion | undefined }

type ChangesBehind = {
  readonly changed: readonly ChangedRecord[]
  /** Versions written behind the cursor, across all records of this answer. */
  readonly revisions: number
  /** URIs of records whose newest version does not hold. */
  readonly failed: readonly string[]
  readonly cursor: string
  /** Whether there is more behind `cursor`. */
  readonly truncated: boolean
}

/** What was written behind a cursor, or ever, as far as the caller may see. */
export async function changesBehind(
  context: CallContext,
  cursor: string | undefined,
): Promise<ChangesBehind> {
  const { place, truncated, versions } = await readPage(context, placeOf(context, cursor))
  const byChain = Map.groupBy(versions, (version) => chainUri(version))
  const changed: ChangedRecord[] = []
  const failed: string[] = []
  for (const [uri, written] of byChain) {
    const change = await changeOf(context, written)
    if (change === undefined) failed.push(uri)
    else changed.push(change)
    noteRead(context, change === undefined ? 'broken' : 'served', uri)
  }
  return { changed, revisions: versions.length, failed, cursor: cursorAt(place), truncated }
}

/** The next versions of both audiences, one after the other, as many as fit an answer. */
async function readPage(context: CallContext, from: Place) {
  const reach = visibleReach(context)
  let room = context.limits.pageVersions
  let place = from
  let truncated = false
  const versions: WrittenVersion[] = []
  for (const audience of AUDIENCES) {
    if (!reach.some((part) => part.audience === audience)) continue
    // One more than the room, to find out whether there is another.
    const limit = room + 1
    const behind = from[audience]
    const found = await context.store.written({ audience, reach, behind, limit })
    if (found === undefined) throw unknownCursor()
    const taken = found.slice(0, room)
    truncated ||= found.length > taken.length
    room -= taken.length
    place = { ...place, [audience]: taken.at(-1) ?? behind }
    versions.push(...taken)
  }
  return { place, truncated, versions }
}

/** What the versions of one chain changed: from what held before the first of them to what holds now. */
async function changeOf(
  context: CallContext,
  written: readonly WrittenVersion[],
): Promise<ChangedRecord | undefined> {
  const [first] = written
  if (first === undefined) return undefined
  const latest = await context.store.latest(first)
  if (latest.kind !== 'found') return undefined
  const newest: CareRecord = latest.record
  noteHeard(context, newest)
  const after = first.version - 1
  const since = await context.store.versions({ slot: first, after, limit: written.length })
  const held = await versionBefore(context, first)
  return changedRecord({ newest, held, told: held, since })
}

const unknownCursor = (): RpcFailure =>
  new RpcFailure(RPC_CODES.invalidParams, 'params.cursor: unknown cursor')

/** `[URI, mark]` of the last version told of each audience, in their order; null where there is none. */
const cursorShape = z.array(z.tuple([z.string(), z.string()]).nullable()).length(AUDIENCES.length)

const cursorAt = (place: Place): string =>
  Buffer.from(
    JSON.stringify(
      AUDIENCES.map((audience) => {
        const last = place[audience]
        return last === undefined ? null : [versionUri(last, last.version), last.mark]
      }),
    ),
  ).toString('base64url')

/** The place that a cursor names. One that names what the caller may not see is no cursor. */
function placeOf(context: CallContext, cursor: string | undefined): Place {
  if (cursor === undefined) return {}
  const place: Partial<Record<Audience, WrittenVersion>> = {}
  for (const [at, part] of partsOf(cursor).entries()) {
    if (part === null) continue
    const [uri, mark] = part
    const parsed = parseRecordUri(uri)
    const audience = AUDIENCES[at]
    if (parsed?.version === undefined || audience === undefined) throw unknownCursor()
    const { slot, version } = parsed
    if (slot.audience !== audience || !canSee(context, slot)) throw unknownCursor()
    place[audience] = { ...slot, version, mark }
  }
  return place
}

function partsOf(cursor: string): z.output<typeof cursorShape> {
  try {
    return cursorShape.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')))
  } catch {
    throw unknownCursor() // neither JSON nor of that shape
  }
}
