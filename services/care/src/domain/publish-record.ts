/**
 * The path of an accepted write: appended and made durable, then announced to sessions, then answered (C14). Within a
 * chain, sessions hear of versions in order. routes/write-route.ts has already decided who may write.
 */
import { type Clock, isoNow } from '@tallystick/service-kit/clock'
import type { Audience } from '../wire/audience.ts'
import { chainUri } from '../wire/record-uri.ts'
import type { AuditRow, WriteAnswer } from '../wire/write.ts'
import type { CareRecord, NewRecord } from './care-record.ts'
import type { KnownNames } from './known-names.ts'
import type { AppendOutcome, RecordStore, RequestKey } from './record-store.ts'
import type { Reach } from './scopes.ts'

/** The port of the audit trail. */
export type AuditTrail = {
  /** Accepted rows are durable when it resolves; refusals are batched. */
  add(row: AuditRow): Promise<void>
  close(): Promise<void>
}

/** The port through which a write reaches MCP sessions; mcp/mcp-endpoint.ts implements it. */
export type SessionHub = {
  /**
   * Has streams tell of an accepted write: `resources/updated` to its subscribers, the revision notice and, for a new chain,
   * `list_changed` to everyone who may see it. Returns how many sessions and listens followed the record before that place.
   */
  publish(record: CareRecord, previous: CareRecord | undefined, place: number): Promise<number>
  /** How many follow a record since before a place. */
  followers(record: CareRecord, place: number): Promise<number>
  /** How many of the sessions subscribed to a URI have had no stream for too long to hear of it now (C36). */
  silent(uri: string): number
  sessions(): number
}

export type VerifiedWrite = {
  readonly record: NewRecord
  readonly via: 'hmac' | 'bearer'
  /** The verified `sub`, or the `authorId` from a signed body. */
  readonly actor: string
  /** For a signed write. */
  readonly request?: RequestKey | undefined
  /** The version that the writer saw, 0 for none; if absent, any. */
  readonly expectedVersion?: number | undefined
  /** Records that the writer may know of, decided from scopes alone (C30); if absent, the speakable ones. */
  readonly mayKnow?: readonly Reach[] | undefined
}

export type WriteConflict = Exclude<AppendOutcome, { kind: 'appended' } | { kind: 'repeated' }>

type PublishOutcome =
  | { readonly kind: 'published'; readonly answer: WriteAnswer }
  /** The store refuses: the chain is the other audience's, is erased, or is not at the expected version. */
  | { readonly kind: 'conflict'; readonly conflict: WriteConflict }

/** Rejects with `RecordStoreUnavailable`, or with what the hub or the audit trail throw; the record may be durable by then. */
export type PublishRecord = (write: VerifiedWrite) => Promise<PublishOutcome>

/** Whoever signs writes knows at least what anybody does. */
const PUBLIC: readonly Reach[] = [{ audience: 'user' }]

/** What to ask the writer of a new record. */
async function askAlike(
  { mayKnow: within = PUBLIC, record }: VerifiedWrite,
  place: number | undefined,
  names: Pick<KnownNames, 'alike'>,
): Promise<WriteAnswer['warning']> {
  const alike = await names.alike(record, { place, within })
  return alike.length === 0 ? undefined : { reason: 'alike_names', names: [...alike] }
}

type PublisherDeps = {
  readonly store: Pick<RecordStore, 'append' | 'noteSubscribers' | 'leaf' | 'leafAt'>
  readonly hub: Pick<SessionHub, 'publish' | 'followers' | 'silent'>
  readonly audit: Pick<AuditTrail, 'add'>
  readonly clock: Pick<Clock, 'unixMs'>
  /** Called when a record goes to the store; the returned function is called once that has ended. */
  readonly startCommit: (audience: Audience) => () => void
  readonly names: Pick<KnownNames, 'alike' | 'isSpelledOtherwise'>
}

/** The process that took a request first may not have noted its count yet, or never will. */
async function countAgain(
  { record, subscribers }: Extract<AppendOutcome, { kind: 'repeated' }>,
  { request }: VerifiedWrite,
  { hub, store }: Pick<PublisherDeps, 'hub' | 'store'>,
): Promise<number> {
  if (subscribers > 0 || request === undefined) return subscribers
  const leaf = await store.leaf(record, record.version)
  const placed = leaf && (await store.leafAt(record.audience, leaf.index))
  const followers = placed === undefined ? 0 : await hub.followers(record, placed.place)
  await store.noteSubscribers(request, followers)
  return followers
}

export function createPublisher(deps: PublisherDeps): PublishRecord {
  const { audit, clock, hub, names, startCommit, store } = deps
  const lasts = new Map<string, Promise<unknown>>()

  /** Runs once everything begun earlier for the same chain or request has ended, whether it succeeded or not. */
  const inOrder = async <Result>(chain: string, run: () => Promise<Result>): Promise<Result> => {
    const mine = lasts.get(chain)?.then(run, run) ?? run()
    lasts.set(chain, mine)
    try {
      return await mine
    } finally {
      if (lasts.get(chain) === mine) lasts.delete(chain)
    }
  }
  const addRow = (
    { via, actor }: VerifiedWrite,
    row:
      | { readonly outcome: 'accepted'; readonly reason: 'ok' | 'repeated'; readonly uri: string }
      | { readonly outcome: 'rejected'; readonly reason: 'store_rejected' },
  ): Promise<void> => audit.add({ at: isoNow(clock), ...row, via, actor })
  /** Sessions come first: they wait neither for the row nor for what a repeated request needs. */
  const tellAndKeep = async (
    { place, previous, record }: Extract<AppendOutcome, { kind: 'appended' }>,
    write: VerifiedWrite,
  ): Promise<number> => {
    let subscribers = 0
    try {
      subscribers = await inOrder(chainUri(record), () => hub.publish(record, previous, place))
    } finally {
      const { request } = write
      await Promise.all([
        addRow(write, { outcome: 'accepted', reason: 'ok', uri: chainUri(record) }),
        request === undefined ? undefined : store.noteSubscribers(request, subscribers),
      ])
    }
    return subscribers
  }

  const publish: PublishRecord = async (write) => {
    const endCommit = startCommit(write.record.audience)
    const { record, request, expectedVersion } = write
    const isSpelledOtherwise = await names.isSpelledOtherwise(record)
    const outcome = isSpelledOtherwise
      ? { kind: 'spelled-otherwise' as const }
      : await store.append(record, request, expectedVersion).finally(endCommit)
    if (outcome.kind !== 'appended' && outcome.kind !== 'repeated') {
      await addRow(write, { outcome: 'rejected', reason: 'store_rejected' })
      return { kind: 'conflict', conflict: outcome }
    }
    const { version, versionHash, writtenAt } = outcome.record
    const uri = chainUri(outcome.record)
    if (outcome.kind === 'repeated')
      await addRow(write, { outcome: 'accepted', reason: 'repeated', uri })
    const subscribers =
      outcome.kind === 'appended'
        ? await tellAndKeep(outcome, write)
        : await countAgain(outcome, write, deps)
    const heard = { subscribers, notified: subscribers > 0, silent: hub.silent(uri) }
    const place = outcome.kind === 'appended' ? outcome.place : undefined
    const warning = version === 1 ? await askAlike(write, place, names) : undefined
    return {
      kind: 'published',
      answer: { uri, version, versionHash, writtenAt, ...heard, ...(warning && { warning }) },
    }
  }
  // A request that is sent again meanwhile finds all of the first one's answer.
  return (write) =>
    write.request === undefined ? publish(write) : inOrder(write.request.mac, () => publish(write))
}
