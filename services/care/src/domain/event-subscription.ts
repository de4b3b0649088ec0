/**
 * MCP Events (C22): what a subscription is, which writes it covers, and what one delivery says. Every delivery is judged by the
 * grant recorded at subscription. adapters/rows/event-subscriptions.ts stores, adapters/outside/event-webhook.ts sends, and
 * event-deliverer.ts decides when and in which order.
 */
import { canonicalJson, preimageHash } from '@tallystick/hashchain'
import { z } from 'zod'
import { RECORD_REVISED } from '../wire/events.ts'
import { versionUri } from '../wire/record-uri.ts'
import type { PlacedVersion, RecordStore } from './record-store.ts'
import type { Principal } from './scopes.ts'

/** Hex digits of an id: 128 bits. */
const ID_HEX = 32

type EventArguments = { readonly patient: string; readonly domain?: string | undefined }

/** A principal with its program, and the URL that they named: another program of the same person is another one (C48). */
type Destination = Pick<Principal, 'client' | 'sub'> & { readonly url: string }

/** A URL of theirs, and the secret that would sign what is sent there. */
export type Signed = Destination & { readonly secret: string }

/** Texts that tell a principal with its program from every other. */
export const identifyHost = ({ client, sub }: Destination): readonly string[] =>
  client === undefined ? [sub] : [sub, client]

/** Where deliveries go, and the secrets that sign them: the newest first, and for a while the previous one. */
export const eventReceiver = z.object({
  url: z.string(),
  secrets: z.array(z.object({ secret: z.string(), untilMs: z.number().optional() })),
})

export type EventReceiver = z.infer<typeof eventReceiver>

/** Why a delivery was not taken. */
export const eventFailure = z.enum([
  'connection_refused',
  'timeout',
  'tls_error',
  'http_3xx',
  'http_4xx',
  'http_5xx',
  'store_unavailable',
])

export type EventFailure = z.infer<typeof eventFailure>

/** What a receiver did with an event. It must not get a refused event again. */
export type DeliveryOutcome =
  | { readonly kind: 'taken' | 'refused' }
  | { readonly kind: 'failed'; readonly reason: EventFailure }

/** A receiver's response to the question whether it wants events. */
export type ChallengeOutcome =
  | { readonly kind: 'answered' }
  | { readonly kind: 'failed'; readonly reason: EventFailure | 'challenge_failed' }

/** Its principal has the rights of the token that was presented last. */
export type EventSubscription = Principal &
  EventArguments & {
    /** For routing, not a credential. */
    readonly id: string
    /** Changes with each subscription and refresh. */
    readonly refresh: string
    readonly receiver: EventReceiver
    /** The place before which it has handled every write. */
    readonly cursor: number
    readonly expiresAtMs: number
    /** False: it is suspended until its subscriber refreshes it. */
    readonly isActive: boolean
    readonly lastDeliveryAtMs?: number | undefined
    readonly lastError?: EventFailure | undefined
    readonly failedSinceMs?: number | undefined
  }

/** The id of a program's subscription to a URL with these arguments; a refresh has the same id. */
export function subscriptionId(parts: EventArguments & Destination) {
  const { domain, patient, url } = parts
  const args = domain === undefined ? { patient } : { patient, domain }
  const key = canonicalJson([...identifyHost(parts), url, RECORD_REVISED.name, args])
  return `sub_${preimageHash(key).slice(0, ID_HEX)}`
}

/** The id of every delivery of a version. It reveals nothing beyond the delivery: nobody can count writes by it. */
const eventId = (uri: string, versionHash: string): string =>
  `evt_${preimageHash(`${uri}|${versionHash}`).slice(0, ID_HEX)}`

/**
 * The event of a write as delivered, never with a value; undefined if its version is erased or broken.
 */
export async function readEvent(
  store: Pick<RecordStore, 'version'>,
  { cursor, row }: { readonly row: PlacedVersion; readonly cursor: string },
) {
  const read = await store.version(row, row.version)
  if (read.kind !== 'found') return undefined
  const { latestVersion, previous, record } = read
  const { language, version, versionHash, writtenAt } = record
  const uri = versionUri(record, version)
  const retracts = previous !== undefined && previous.value !== record.value
  const event = {
    eventId: eventId(uri, versionHash),
    name: RECORD_REVISED.name,
    timestamp: writtenAt,
    data: { uri, version, versionHash, retracts, language },
    cursor,
  }
  return { event, record, isLatest: latestVersion === row.version }
}

export type RevisionEvent = NonNullable<Awaited<ReturnType<typeof readEvent>>>['event']

/** For logs and metrics; names nobody, and nothing of internal records. */
export type EventReport =
  | { readonly kind: 'delivery'; readonly outcome: 'taken' | 'refused' | 'failed' }
  | { readonly kind: 'ended'; readonly reason: 'suspended' | 'revoked' | 'expired' }
  | { readonly kind: 'problem'; readonly error: unknown }

/** The port behind which subscriptions are kept. Methods reject with RecordStoreUnavailable. */
export type EventSubscriptions = {
  /** Adds one, or replaces the one with its id. */
  save(subscription: EventSubscription): Promise<void>
  find(id: string): Promise<EventSubscription | undefined>
  /** With a `refresh`, only if it still has that one. */
  remove(
    parts: Pick<EventSubscription, 'id'> & Partial<Pick<EventSubscription, 'refresh'>>,
  ): Promise<void>
  /** Ids of all with their `refresh`: to find those that changed. */
  versions(): Promise<ReadonlyMap<string, string>>
  countFor(sub: string): Promise<{ readonly own: number; readonly all: number }>
  removeExpired(nowMs: number): Promise<void>
  /**
   * Notes how far a delivery came; false if the subscription has changed. Rejects if another process took the lease since that
   * epoch.
   */
  note(subscription: EventSubscription, epoch: number): Promise<boolean>
  /** Whether a receiver recently answered a challenge of that program with that secret. */
  isVerified(parts: Signed & { readonly nowMs: number }): Promise<boolean>
  keepVerified(parts: Signed & { readonly untilMs: number }): Promise<void>
}
