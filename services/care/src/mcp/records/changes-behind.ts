/**
 * What was written after a cursor, for hosts that receive no notifications (C26). A cursor is a place in the order of
 * writing, not a time, so nothing is skipped whatever clocks do. An incomplete answer says so, and its cursor continues where
 * it ends. It goes by the last versions reported to its reader: one that moved with the journals would tell how much is
 * written that the reader may not see. Both journals have their own, so that who gains a scope has skipped nothing of it.
 */
import type { PlacedVersion } from '../../domain/record-store.ts'
import { readReach } from '../../domain/scopes.ts'
import { AUDIENCES, type Audience } from '../../wire/audience.ts'
import { chainUri } from '../../wire/record-uri.ts'
import { NOTHING_TOLD, type ToldParts, toldUpTo } from './change-cursors.ts'
import { type ChangedRecord, changeOfChain, type ToldChanges } from './changes-since.ts'
import { type CallContext, noteRead, unknownCursor } from './visible-records.ts'

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
  const position = await readTold(context, cursor)
  const { truncated, versions } = await readPage(context, position)
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
  const next = context.changeCursors.write(await addTold(context, position.parts, versions))
  return { changed, revisions: versions.length, failed, cursor: next, truncated }
}

type Told = {
  readonly parts: ToldParts
  /** The places from which on versions of each audience were not told. */
  readonly from: Readonly<Record<Audience, number>>
}

/** What the reader of a cursor was told. One that does not fit the journals is of another store, or none at all. */
async function readTold({ changeCursors, store }: CallContext, cursor?: string): Promise<Told> {
  if (cursor === undefined)
    return {
      parts: { user: NOTHING_TOLD, assistant: NOTHING_TOLD },
      from: { user: 0, assistant: 0 },
    }
  const parts = changeCursors.read(cursor)
  if (parts === undefined) throw unknownCursor()
  const findFrom = async (audience: Audience): Promise<number> => {
    const { mark, size } = parts[audience]
    if (size === 0 && mark === NOTHING_TOLD.mark) return 0
    const last = await store.leafAt(audience, size - 1)
    if (last === undefined || toldUpTo(last).mark !== mark) throw unknownCursor()
    return last.place + 1
  }
  return { parts, from: { user: await findFrom('user'), assistant: await findFrom('assistant') } }
}

/** The next versions in the order of writing, as many as fit an answer. */
async function readPage(
  { limits, principal, store }: CallContext,
  { from }: Told,
): Promise<{ readonly versions: readonly PlacedVersion[]; readonly truncated: boolean }> {
  const room = limits.pageVersions
  const found = await Promise.all(
    AUDIENCES.map(async (audience) => {
      const reach = readReach(principal.scopes).filter((part) => part.audience === audience)
      // One more than the room, to find out whether there is another.
      const query = { reach, from: from[audience], limit: room + 1 }
      return reach.length === 0 ? [] : await store.behind(query)
    }),
  )
  const all = found.flat().toSorted((left, right) => left.place - right.place)
  return { versions: all.slice(0, room), truncated: all.length > room }
}

/** What a reader was told once it has these versions too. */
async function addTold(
  { store }: CallContext,
  parts: ToldParts,
  versions: readonly PlacedVersion[],
): Promise<ToldParts> {
  const next = { ...parts }
  for (const audience of AUDIENCES) {
    const last = versions.findLast((version) => version.audience === audience)
    const leaf = last && (await store.leafAt(audience, last.leaf))
    if (leaf !== undefined) next[audience] = toldUpTo(leaf)
  }
  return next
}
