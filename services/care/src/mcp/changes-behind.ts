/**
 * What was written after a cursor, for hosts that receive no notifications (C26). A cursor is a place in the order of
 * writing, not a time, so nothing is skipped whatever clocks do. An incomplete answer says so, and its cursor continues where
 * it ends. The cursor names the last versions reported to its reader, not their numbers, which would reveal how much is
 * written that the reader may not see.
 */
import { z } from 'zod'
import type { WrittenVersion } from '../domain/record-store.ts'
import { mayRead, reachOf } from '../domain/scopes.ts'
import { chainUri, parseRecordUri, versionUri } from '../wire/record-uri.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import { type ChangedRecord, changeOfChain, type ToldChanges } from './changes-since.ts'
import { type CallContext, noteRead, unknownCursor } from './visible-records.ts'

/** The last version reported of each audience; absent until one was. */
type Place = { readonly [Name in Audience]?: WrittenVersion | undefined }

type ChangesBehind = ToldChanges & {
  readonly cursor: string
  /** Whether there is more after `cursor`. */
  readonly truncated: boolean
}

/** What was written after a cursor, or ever, as far as the caller may see. */
export async function changesBehind(
  context: CallContext,
  cursor: string | undefined,
): Promise<ChangesBehind> {
  const { place, truncated, versions } = await readPage(context, readPlace(context, cursor))
  const byChain = Map.groupBy(versions, (version) => chainUri(version))
  const changed: ChangedRecord[] = []
  const failed: string[] = []
  for (const [uri, written] of byChain) {
    const [first] = written
    if (first === undefined) continue
    const { version: firstSince } = first
    const limit = written.length
    const change = await changeOfChain(context, first, { firstSince, after: firstSince - 1, limit })
    if (change === undefined) failed.push(uri)
    else changed.push(change)
    noteRead(context, change === undefined ? 'broken' : 'served', uri)
  }
  return { changed, revisions: versions.length, failed, cursor: cursorAt(place), truncated }
}

/** The next versions of both audiences, one after the other, as many as fit an answer. */
async function readPage(context: CallContext, from: Place) {
  const reach = reachOf(context.principal.scopes)
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

/** `[URI, mark]` of the last version reported of each audience, in their order; null if there is none. */
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
function readPlace(context: CallContext, cursor: string | undefined): Place {
  if (cursor === undefined) return {}
  const place: Partial<Record<Audience, WrittenVersion>> = {}
  for (const [at, part] of partsOf(cursor).entries()) {
    if (part === null) continue
    const [uri, mark] = part
    const parsed = parseRecordUri(uri)
    const audience = AUDIENCES[at]
    if (parsed?.version === undefined || audience === undefined) throw unknownCursor()
    const { slot, version } = parsed
    if (slot.audience !== audience || !mayRead(context.principal.scopes, slot))
      throw unknownCursor()
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
