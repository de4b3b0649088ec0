/**
 * `events/list`, `events/subscribe` and `events/unsubscribe` (C22). What a principal may subscribe to is decided from names
 * alone, before any look-up, so it learns nothing about what exists. A receiver is challenged first unless it recently
 * confirmed to that program that it wants events signed with that secret (C48).
 */
import { PaginatedRequestParamsSchema } from '@modelcontextprotocol/sdk/types.js'
import { BoundedMap, DAY_MS, HOUR_MS, MINUTE_MS } from '@tallystick/service-kit'
import { parseParams, RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import {
  type ChallengeOutcome,
  type EventReceiver,
  type EventSubscription,
  type EventSubscriptions,
  type Signed,
  subscriptionId,
} from '../../domain/event-subscription.ts'
import { placeBehind, type RecordStore } from '../../domain/record-store.ts'
import { type Principal, type Reach, reachWithin, readReach } from '../../domain/scopes.ts'
import {
  deliveryMode,
  type EventProfile,
  eventName,
  RECORD_REVISED,
  subscribeParams,
  unsubscribeParams,
} from '../../wire/events.ts'
import { unknownCursor } from '../records/visible-records.ts'
import type { McpMethod } from './dispatch.ts'

const TTL_DEFAULT_MS = HOUR_MS
const TTL_MIN_MS = MINUTE_MS
/** Applies even if the request names no end: a grant that nobody renews is honoured no longer than this. */
const TTL_MAX_MS = DAY_MS
/** How long a receiver's answer to a challenge counts. */
const VERIFIED_MS = DAY_MS
/** How long the previous secret keeps signing too. */
const ROTATION_MS = 5 * MINUTE_MS
const SUBSCRIPTIONS_PER_SUB_MAX = 100
/** Subscriptions in total: about 10 MB while they are delivered. */
const SUBSCRIPTIONS_MAX = 10_000
/** Challenges per principal and minute, so that nobody can use this service to flood others. */
const CHALLENGES_MAX = 10
/** Principals whose challenges are counted; the oldest is forgotten beyond. */
const COUNTED_MAX = 10_000

type EventMethodDeps = {
  readonly store: Pick<RecordStore, 'behind' | 'journals'>
  readonly subscriptions: EventSubscriptions
  readonly challenge: (to: {
    readonly id: string
    readonly receiver: EventReceiver
  }) => Promise<ChallengeOutcome>
  /** Called once a subscription is saved or removed. */
  readonly onChanged: (id: string) => Promise<void>
  /** A cursor's text, and its value; undefined if it is not that principal's. */
  readonly cursorText: (sub: string, place: number) => string
  readonly readCursor: (sub: string, text: string) => number | undefined
  readonly profile: EventProfile
  /** Whether receivers may speak plain http. */
  readonly mayBePlain: boolean
  /** Host names of receivers; absent, any. */
  readonly hosts?: readonly string[] | undefined
  readonly clock: { unixMs(): number }
  /** A different text each time. */
  readonly draw: () => string
}

function createMinuteLimit(clock: EventMethodDeps['clock'], max: number) {
  const begun = new BoundedMap<string, number[]>(COUNTED_MAX)
  return (sub: string): boolean => {
    const nowMs = clock.unixMs()
    const recent = (begun.get(sub) ?? []).filter((atMs) => nowMs - atMs < MINUTE_MS)
    begun.set(sub, recent.length < max ? [...recent, nowMs] : recent)
    return recent.length < max
  }
}

/** What `server/discover` says, in the words of ChatGPT and of the SEP. */
export const EVENT_CAPABILITIES = {
  events: {},
  extensions: { 'io.modelcontextprotocol/events': { listChanged: false } },
}

/** Checks of a request to subscribe; refusals use the profile's codes. */
function createChecks(deps: EventMethodDeps) {
  const { clock, profile, subscriptions } = deps
  const isWithinLimit = createMinuteLimit(clock, CHALLENGES_MAX)
  const { codes } = profile

  const requireEvent = (params: unknown): void => {
    if (parseParams(eventName, params).name !== RECORD_REVISED.name)
      throw new RpcFailure(codes.notFound, 'Unknown event', { kind: 'event' })
  }
  const exhausted = (limit: string, max: number): RpcFailure =>
    new RpcFailure(codes.exhausted, 'Too many', { limit, max })

  const requireAllowed = (
    principal: Principal,
    { arguments: args, delivery }: ReturnType<typeof readSubscribe>,
  ): void => {
    if (reachWithin(readReach(principal.scopes), args.patient).length === 0)
      throw new RpcFailure(codes.forbidden, 'Not allowed for this patient')
    const { hostname, protocol } = new URL(delivery.url)
    if (protocol !== 'https:' && !deps.mayBePlain)
      throw new RpcFailure(RPC_CODES.invalidParams, 'params.delivery.url: https only')
    if (deps.hosts !== undefined && !deps.hosts.includes(hostname))
      throw new RpcFailure(codes.forbidden, 'Not allowed for this host')
  }
  const readSubscribe = (params: unknown) => {
    requireEvent(params)
    const { mode } = parseParams(deliveryMode, params).delivery
    if (mode !== 'webhook')
      throw new RpcFailure(codes.unsupported, 'Unsupported', {
        feature: 'delivery.mode',
        value: mode,
      })
    return parseParams(subscribeParams, params)
  }
  const requireVerified = async (signed: Signed, to: { id: string; receiver: EventReceiver }) => {
    if (await subscriptions.isVerified({ ...signed, nowMs: clock.unixMs() })) return
    if (!isWithinLimit(signed.sub)) throw exhausted('challenges per minute', CHALLENGES_MAX)
    const outcome = await deps.challenge(to)
    if (outcome.kind === 'failed') {
      const { reason } = outcome
      throw new RpcFailure(codes.callback, 'The callback endpoint did not answer', { reason })
    }
    await subscriptions.keepVerified({ ...signed, untilMs: clock.unixMs() + VERIFIED_MS })
  }
  const requireRoom = async (sub: string): Promise<void> => {
    const { all, own } = await subscriptions.countFor(sub)
    if (own >= SUBSCRIPTIONS_PER_SUB_MAX)
      throw exhausted('subscriptions', SUBSCRIPTIONS_PER_SUB_MAX)
    if (all >= SUBSCRIPTIONS_MAX) throw exhausted('subscriptions in all', SUBSCRIPTIONS_MAX)
  }
  return { readSubscribe, requireAllowed, requireEvent, requireRoom, requireVerified }
}

export function createEventMethods(deps: EventMethodDeps): Readonly<Record<string, McpMethod>> {
  const { clock, onChanged, subscriptions } = deps
  const { readSubscribe, requireAllowed, requireEvent, requireRoom, requireVerified } =
    createChecks(deps)
  return {
    'events/list': async (_, params) => {
      if (parseParams(PaginatedRequestParamsSchema, params).cursor !== undefined)
        throw unknownCursor()
      return { events: [RECORD_REVISED] }
    },
    'events/subscribe': async ({ principal }, params) => {
      const request = readSubscribe(params)
      requireAllowed(principal, request)
      const { client, jti, scopes, sub } = principal
      const { arguments: args, cursor, delivery, maxAgeMs } = request
      const signed = { client, sub, url: delivery.url, secret: delivery.secret }
      const id = subscriptionId({ ...args, ...signed })
      const found = await subscriptions.find(id)
      const cursorGiven = cursor == null ? undefined : deps.readCursor(sub, cursor)
      if (cursor != null && cursorGiven === undefined) throw unknownCursor()
      if (found === undefined) await requireRoom(sub)
      const receiver = createReceiver(delivery, found, clock.unixMs())
      await requireVerified(signed, { id, receiver })
      const from = await findStart(deps, {
        reach: reachWithin(readReach(scopes), args.patient),
        domain: args.domain,
        cursor: earlier(cursorGiven, found?.cursor),
        maxAgeMs: maxAgeMs ?? undefined,
      })
      const expiresAtMs = clock.unixMs() + grantedMs(request.ttlMs)
      await subscriptions.save({
        ...args,
        jti,
        scopes,
        sub,
        id,
        refresh: deps.draw(),
        receiver,
        cursor: from.cursor,
        expiresAtMs,
        isActive: true,
        lastDeliveryAtMs: found?.lastDeliveryAtMs,
      })
      await onChanged(id)
      return {
        id,
        refreshBefore: new Date(expiresAtMs).toISOString(),
        cursor: deps.cursorText(sub, from.cursor),
        truncated: from.isTruncated,
        ...(found === undefined ? {} : { deliveryStatus: describeStatus(found) }),
      }
    },
    'events/unsubscribe': async ({ principal: { client, sub } }, params) => {
      requireEvent(params)
      const { arguments: args, delivery } = parseParams(unsubscribeParams, params)
      const id = subscriptionId({ ...args, client, sub, url: delivery.url })
      await subscriptions.remove({ id })
      await onChanged(id)
      return {}
    },
  }
}

/** A refresh never skips undelivered events, whatever cursor its host holds. */
const earlier = (left: number | undefined, right: number | undefined): number | undefined =>
  left === undefined || right === undefined ? (left ?? right) : Math.min(left, right)

const grantedMs = (ttlMs: number | null | undefined): number =>
  ttlMs === undefined
    ? TTL_DEFAULT_MS
    : Math.min(TTL_MAX_MS, Math.max(TTL_MIN_MS, ttlMs ?? TTL_MAX_MS))

/** The newest secret signs, and the one before it for a while. */
function createReceiver(
  { secret, url }: { readonly secret: string; readonly url: string },
  found: EventSubscription | undefined,
  nowMs: number,
): EventReceiver {
  const before = found?.receiver.secrets.find((each) => each.secret !== secret)
  const isNew = before !== undefined && before === found?.receiver.secrets[0]
  const former = isNew ? { secret: before.secret, untilMs: nowMs + ROTATION_MS } : before
  return { url, secrets: [{ secret }, ...(former === undefined ? [] : [former])] }
}

const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString())

function describeStatus(subscription: EventSubscription): object {
  return {
    active: subscription.isActive,
    lastDeliveryAt: iso(subscription.lastDeliveryAtMs),
    lastError: subscription.lastError ?? null,
    failedSince: iso(subscription.failedSinceMs),
  }
}

/**
 * Where a subscription begins: after its cursor, or now; later if its host does not want such old events. A subscription that
 * waits for nothing moves to now.
 */
async function findStart(
  { clock, store }: Pick<EventMethodDeps, 'clock' | 'store'>,
  request: {
    readonly reach: readonly Reach[]
    readonly domain: string | undefined
    readonly cursor: number | undefined
    readonly maxAgeMs: number | undefined
  },
): Promise<{ readonly cursor: number; readonly isTruncated: boolean }> {
  const { cursor, domain, maxAgeMs, reach } = request
  const end = placeBehind(store.journals)
  // The cursor is from another store, or from before this one was moved or restored.
  if (cursor === undefined || cursor > end)
    return { cursor: end, isTruncated: cursor !== undefined }
  const query = { reach, domain, from: cursor, limit: 1 }
  const [first] = await store.behind(query)
  if (first === undefined) return { cursor: end, isTruncated: false }
  if (maxAgeMs === undefined) return { cursor, isTruncated: false }
  const sinceIso = new Date(Math.max(0, clock.unixMs() - maxAgeMs)).toISOString()
  const [wanted] = await store.behind({ ...query, sinceIso })
  return { cursor: wanted?.place ?? end, isTruncated: wanted?.place !== first.place }
}
