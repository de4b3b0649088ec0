// Subscriptions to events as rows beside the records (C22), and the process that delivers. URL and secrets are sealed under the
// ring: both let their holder speak for somebody. A row whose key is gone does not count: its host will refresh it.
import { hash } from 'node:crypto'
import { type KeyRing, openValue, sealValue } from '@tallystick/hashchain'
import type { Lease } from '@tallystick/journal-store'
import { z } from 'zod'
import {
  type EventSubscription,
  type EventSubscriptions,
  eventFailure,
  eventReceiver,
  identifyHost,
  type Signed,
} from '../../domain/event-subscription.ts'
import type { SideRows } from './side-rows.ts'

const maybe = <Value>(schema: z.ZodType<Value>) =>
  schema.nullable().transform((value) => value ?? undefined)

/** A row as either engine gives it, without its sealed column. */
const shownRow = z.object({
  id: z.string(),
  sub: z.string(),
  patient: z.string(),
  domain: maybe(z.string()),
  cursor: z.number(),
  expiresAtMs: z.number(),
  isActive: z.number().transform((flag) => flag === 1),
  lastDeliveryAtMs: maybe(z.number()),
  lastError: maybe(eventFailure),
  failedSinceMs: maybe(z.number()),
})

const storedRow = shownRow.extend({
  refresh: z.string(),
  scopes: z.string().transform((text) => z.array(z.string()).parse(JSON.parse(text))),
  jti: maybe(z.string()),
  receiver: z.string(),
})

const COLUMNS =
  'id, sub, patient, domain, done_to, expires_ms, is_active, last_delivery_ms, last_error, failed_since_ms'
const SHOWN = `id, sub, patient, domain, done_to AS "cursor", expires_ms AS "expiresAtMs", is_active AS "isActive",
  last_delivery_ms AS "lastDeliveryAtMs", last_error AS "lastError", failed_since_ms AS "failedSinceMs"`
const FIND = `SELECT ${SHOWN}, refresh, scopes, jti, receiver FROM event_subscriptions WHERE id = $1`

const SAVE = `INSERT INTO event_subscriptions (${COLUMNS}, refresh, scopes, jti, receiver)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
  ON CONFLICT (id) DO UPDATE SET done_to = excluded.done_to, expires_ms = excluded.expires_ms, is_active = excluded.is_active,
    last_delivery_ms = excluded.last_delivery_ms, last_error = excluded.last_error, failed_since_ms = excluded.failed_since_ms,
    refresh = excluded.refresh, scopes = excluded.scopes, jti = excluded.jti, receiver = excluded.receiver`

const NOTE = `UPDATE event_subscriptions SET done_to = $1, is_active = $2, last_delivery_ms = $3, last_error = $4, failed_since_ms = $5
  WHERE id = $6 AND refresh = $7 RETURNING id`

const leaseSlot = (id: string): string => `event-receiver|${id}`
const receiverKey = (signed: Signed): string =>
  hash('sha256', JSON.stringify([...identifyHost(signed), signed.url, signed.secret]))

const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString())

/** What an operator sees: neither URL nor secret. Rejects with RecordStoreUnavailable. */
export async function listEventSubscriptions(side: Pick<SideRows, 'read'>) {
  const rows = await side.read(`SELECT ${SHOWN} FROM event_subscriptions ORDER BY sub, id`)
  return z
    .array(shownRow)
    .parse(rows)
    .map(({ cursor: _cursor, expiresAtMs, failedSinceMs, lastDeliveryAtMs, ...row }) => ({
      ...row,
      expiresAt: iso(expiresAtMs),
      lastDeliveryAt: iso(lastDeliveryAtMs),
      failedSince: iso(failedSinceMs),
    }))
}

/** Cursors as texts, sealed for their principal: plain numbers would reveal how much everybody writes. */
export const eventCursors = (ring: KeyRing) => ({
  write: (sub: string, sequence: number): string =>
    Buffer.from(sealValue({ ring, value: `${sequence}`, slot: cursorSlot(sub) })).toString(
      'base64url',
    ),
  /** Undefined unless it is that principal's. */
  read: (sub: string, text: string): number | undefined => {
    const sealed = Buffer.from(text, 'base64url')
    const opened = openValue({ ring, sealed, slot: cursorSlot(sub) })
    return opened.kind === 'opened' ? Number(opened.value) : undefined
  },
})

const cursorSlot = (sub: string): string => `event-cursor|${sub}`

const sealedRows = (ring: KeyRing) => ({
  write: (subscription: EventSubscription): readonly (string | number | null)[] => {
    const value = JSON.stringify(subscription.receiver)
    const sealed = Buffer.from(
      sealValue({ ring, value, slot: leaseSlot(subscription.id) }),
    ).toString('base64')
    const {
      cursor,
      domain = null,
      expiresAtMs,
      id,
      jti = null,
      patient,
      refresh,
      scopes,
      sub,
    } = subscription
    const named = [id, sub, patient, domain, cursor, expiresAtMs]
    return [...named, ...readProgress(subscription), refresh, JSON.stringify(scopes), jti, sealed]
  },
  read: (row: unknown): EventSubscription | undefined => {
    const stored = storedRow.parse(row)
    const sealed = Buffer.from(stored.receiver, 'base64')
    const opened = openValue({ ring, sealed, slot: leaseSlot(stored.id) })
    if (opened.kind !== 'opened') return undefined
    return { ...stored, receiver: eventReceiver.parse(JSON.parse(opened.value)) }
  },
})

/** Cells of what changes with each delivery. */
const readProgress = (subscription: EventSubscription) =>
  [
    subscription.isActive ? 1 : 0,
    subscription.lastDeliveryAtMs ?? null,
    subscription.lastError ?? null,
    subscription.failedSinceMs ?? null,
  ] as const

const verifiedReceivers = (
  side: SideRows,
): Pick<EventSubscriptions, 'isVerified' | 'keepVerified'> => ({
  isVerified: async ({ nowMs, ...receiver }) => {
    const sql = 'SELECT receiver FROM event_receivers WHERE receiver = $1 AND until_ms > $2'
    return (await side.read(sql, [receiverKey(receiver), nowMs])).length > 0
  },
  keepVerified: async ({ untilMs, ...receiver }) => {
    const sql = `INSERT INTO event_receivers (receiver, until_ms) VALUES ($1, $2)
      ON CONFLICT (receiver) DO UPDATE SET until_ms = excluded.until_ms`
    await side.transaction((query) => query(sql, [receiverKey(receiver), untilMs]))
  },
})

export function openEventSubscriptions(
  side: SideRows,
  ring: KeyRing,
  lease: Pick<Lease, 'require'>,
): EventSubscriptions {
  const rows = sealedRows(ring)
  const change = (sql: string, values: readonly unknown[]) =>
    side.transaction((query) => query(sql, values))
  return {
    ...verifiedReceivers(side),
    save: async (subscription) => void (await change(SAVE, rows.write(subscription))),
    find: async (id) => {
      const [row] = await side.read(FIND, [id])
      return row === undefined ? undefined : rows.read(row)
    },
    remove: async ({ id, refresh }) => {
      const sql =
        'DELETE FROM event_subscriptions WHERE id = $1 AND refresh = coalesce($2, refresh)'
      await change(sql, [id, refresh ?? null])
    },
    versions: async () => {
      const sql = 'SELECT id, refresh FROM event_subscriptions'
      type Row = Pick<EventSubscription, 'id' | 'refresh'>
      return new Map((await side.read<Row>(sql)).map(({ id, refresh }) => [id, refresh]))
    },
    countFor: async (sub) => {
      const sql =
        'SELECT count(CASE WHEN sub = $1 THEN 1 END) AS own, count(*) AS total FROM event_subscriptions'
      const [row] = await side.read<{ readonly own: number; readonly total: number }>(sql, [sub])
      return { own: row?.own ?? 0, all: row?.total ?? 0 }
    },
    removeExpired: (nowMs) =>
      side.transaction(async (query) => {
        await query('DELETE FROM event_subscriptions WHERE expires_ms <= $1', [nowMs])
        await query('DELETE FROM event_receivers WHERE until_ms <= $1', [nowMs])
      }),
    // If a loss of power loses it, the event is delivered again.
    note: async (subscription, epoch) => {
      const { cursor, id, refresh } = subscription
      const values = [cursor, ...readProgress(subscription), id, refresh]
      const [, noted] = await side.transaction(
        (query) => Promise.all([lease.require(query, epoch), query(NOTE, values)]),
        'relaxed',
      )
      return noted.length > 0
    },
  }
}
