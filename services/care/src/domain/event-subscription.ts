/**
 * MCP Events (C22): what a subscription is, which writes it is about, and what one delivery says. Whoever subscribed is judged
 * by the grant that was recorded then, at every delivery. Storing is adapters/event-subscriptions.ts, sending
 * adapters/event-webhook.ts, when and in which order event-deliverer.ts.
 */
import { canonicalJson, preimageHash } from '@tallystick/hashchain'
import { RECORD_REVISED } from '../wire/events.ts'
import { versionUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { type CareRecord, mayRead } from './care-record.ts'
import type { KeptWrite, RecordStore } from './record-store.ts'

/** Hex digits of an id: 128 bits. */
const ID_HEX = 32

/** Who subscribed, with what rights: those of the token that was presented last. */
export type EventGrant = {
  readonly sub: string
  readonly scopes: readonly string[]
  readonly jti?: string | undefined
}

/** Which records. */
type EventArguments = { readonly patient: string; readonly domain?: string | undefined }

/** Where deliveries go, and what signs them: the newest secret first, and the one before for a while. */
export type EventReceiver = {
  readonly url: string
  readonly secrets: readonly { readonly secret: string; readonly untilMs?: number | undefined }[]
}

/** Why a delivery was not taken. */
export type EventFailure =
  | 'connection_refused'
  | 'timeout'
  | 'tls_error'
  | 'http_3xx'
  | 'http_4xx'
  | 'http_5xx'
  | 'store_unavailable'

/** What a receiver did that was asked whether it wants events. */
export type ChallengeOutcome =
  | { readonly kind: 'answered' }
  | { readonly kind: 'failed'; readonly reason: EventFailure | 'challenge_failed' }

export type EventSubscription = EventGrant &
  EventArguments & {
    /** For routing, not a credential. */
    readonly id: string
    /** Another one with each subscribing and refreshing. */
    readonly refresh: string
    readonly receiver: EventReceiver
    /** Sequence of the last write that it is done with. */
    readonly cursor: number
    readonly expiresAtMs: number
    /** False: it is suspended until its subscriber refreshes it. */
    readonly isActive: boolean
    readonly lastDeliveryAtMs?: number | undefined
    readonly lastError?: EventFailure | undefined
    readonly failedSinceMs?: number | undefined
  }

/** The id of a principal's subscription to a URL with these arguments: the same again for a refresh. */
export function subscriptionId(of: EventArguments & Pick<EventGrant, 'sub'> & { url: string }) {
  const { domain, patient, sub, url } = of
  const args = domain === undefined ? { patient } : { patient, domain }
  const key = canonicalJson([sub, url, RECORD_REVISED.name, args])
  return `sub_${preimageHash(key).slice(0, ID_HEX)}`
}

/** The audiences whose records a grant reads, of one patient. */
export function audiencesOf(
  { scopes }: Pick<EventGrant, 'scopes'>,
  { patient }: EventArguments,
): readonly Audience[] {
  return (['user', 'assistant'] as const).filter((audience) =>
    mayRead(scopes, { audience, patient }),
  )
}

/** What every delivery of a version is known by. It says nothing that the delivery does not say: writes cannot be counted by it. */
const eventIdOf = (uri: string, versionHash: string): string =>
  `evt_${preimageHash(`${uri}|${versionHash}`).slice(0, ID_HEX)}`

/** One event, as it is delivered: never a value. */
function eventOf(
  record: CareRecord,
  of: { readonly previous: CareRecord | undefined; readonly cursor: string },
) {
  const { version, versionHash, writtenAt } = record
  const uri = versionUri(record, version)
  const retracts = of.previous !== undefined && of.previous.value !== record.value
  return {
    eventId: eventIdOf(uri, versionHash),
    name: RECORD_REVISED.name,
    timestamp: writtenAt,
    data: { uri, version, versionHash, retracts },
    cursor: of.cursor,
  }
}

/** The event of a write, as far as its version can be given out: undefined where it is erased, or broken. */
export async function readEvent(
  store: Pick<RecordStore, 'version'>,
  { cursor, row }: { readonly row: KeptWrite; readonly cursor: string },
) {
  const read = await store.version(row, row.version)
  if (read.kind !== 'found') return undefined
  const before = row.version > 1 ? await store.version(row, row.version - 1) : undefined
  const previous = before?.kind === 'found' ? before.record : undefined
  const { latestVersion, record } = read
  return {
    event: eventOf(record, { previous, cursor }),
    record,
    isLatest: latestVersion === row.version,
  }
}

export type RevisionEvent = ReturnType<typeof eventOf>

/** For logs and metrics; names nobody, and nothing of internal records. */
export type EventReport =
  | { readonly kind: 'delivery'; readonly outcome: 'taken' | 'refused' | 'failed' }
  | { readonly kind: 'ended'; readonly reason: 'suspended' | 'revoked' | 'expired' }
  | { readonly kind: 'problem'; readonly error: unknown }

/** The port behind which subscriptions are kept. Methods reject with AuditTrailUnavailable, as those of the rows beside them. */
export type EventSubscriptions = {
  /** Adds one, or puts it in the place of the one with its id. */
  save(subscription: EventSubscription): Promise<void>
  find(id: string): Promise<EventSubscription | undefined>
  /** With a `refresh` only as it was then. */
  remove(
    of: Pick<EventSubscription, 'id'> & Partial<Pick<EventSubscription, 'refresh'>>,
  ): Promise<void>
  /** Ids of all with their `refresh`: to find those that changed. */
  versions(): Promise<ReadonlyMap<string, string>>
  countOf(sub: string): Promise<{ readonly own: number; readonly all: number }>
  /** Takes out those that nobody refreshed in time. */
  removeExpired(nowMs: number): Promise<void>
  /**
   * Notes how far a delivery came, where the subscription is still what it was and this process still delivers; false
   * otherwise.
   */
  note(subscription: EventSubscription, fence: number): Promise<boolean>
  /** Whether a receiver has answered a challenge of that principal of late. */
  isVerified(of: {
    readonly sub: string
    readonly url: string
    readonly nowMs: number
  }): Promise<boolean>
  keepVerified(of: {
    readonly sub: string
    readonly url: string
    readonly untilMs: number
  }): Promise<void>
  /** Takes or renews the right to deliver until a time; undefined while another process has it. */
  lease(of: {
    readonly holder: string
    readonly nowMs: number
    readonly untilMs: number
    /** Nobody else can have it. */
    readonly isAlone: boolean
  }): Promise<number | undefined>
}
