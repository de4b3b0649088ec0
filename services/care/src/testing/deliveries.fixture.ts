// Deliveries of events over a real store, with a stopped clock and receivers that answer as each test wants. To simulate a
// kill, a test abandons a deliverer and opens another on what it left.
import { type Lease, OWN_LEASE } from '@tallystick/journal-store'
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach } from 'vitest'
import { openMemoryStore, testKeyRing } from '../adapters/records/sqlite-store.fixture.ts'
import { eventCursors, openEventSubscriptions } from '../adapters/rows/event-subscriptions.ts'
import { openSqliteSideRows, type SideRows } from '../adapters/rows/side-rows.ts'
import type { NewRecord } from '../domain/care-record.ts'
import { EventDeliverer } from '../domain/event-deliverer.ts'
import type {
  EventReport,
  EventSubscription,
  EventSubscriptions,
} from '../domain/event-subscription.ts'
import { sampleRecord } from '../domain/record-store.fixture.ts'
import type { RecordStore } from '../domain/record-store.ts'

export type Outcome = Awaited<
  ReturnType<ConstructorParameters<typeof EventDeliverer>[0]['deliver']>
>

export const RING = testKeyRing('k1')
export const START_MS = Date.UTC(2026, 10, 21, 12)
export const HOUR_MS = 3_600_000
export const TAKEN: Outcome = { kind: 'taken' }
export const DOWN: Outcome = { kind: 'failed', reason: 'http_5xx' }

type Under = {
  clock: ManualClock
  store: RecordStore
  rows: SideRows
  subscriptions: EventSubscriptions
  lease: Pick<Lease, 'epoch' | 'onHeld'>
  /** What receivers got: the subscription, the version, and whether it retracts. */
  got: string[]
  /** Newest versions that receivers took. */
  heard: string[]
  reports: EventReport[]
  /** Ids of tokens. */
  revoked: Set<string>
  /** What receivers answer. */
  answer: (said: string) => Outcome | Promise<Outcome>
  /** Closed after the test; a test removes one that hangs. */
  open: EventDeliverer[]
}

type OpenStore = (clock: ManualClock) => Promise<RecordStore>

async function begin(openStore: OpenStore): Promise<Under> {
  const clock = manualClock(START_MS)
  const rows = openSqliteSideRows(':memory:')
  const made = { got: [], heard: [], reports: [], open: [], revoked: new Set<string>() }
  const subscriptions = openEventSubscriptions(rows, RING, OWN_LEASE)
  const store = await openStore(clock)
  return { ...made, clock, rows, subscriptions, store, lease: OWN_LEASE, answer: () => TAKEN }
}

/** Registers the hooks of a file. */
export function useDeliveries(openStore: OpenStore = openMemoryStore) {
  const on = {} as Under
  beforeEach(async () => void Object.assign(on, await begin(openStore)))
  afterEach(async () => {
    for (const each of on.open) await each.close()
    await on.rows.end()
    await on.store.close()
  })
  let refreshes = 0

  const start = async () => {
    const deliverer = new EventDeliverer({
      ...on,
      isShared: false,
      deliver: async ({ id }, { data }) => {
        const said = `${id} ${data.uri.replace(/^care(.*):\/\//, '$1')}${data.retracts ? ' retracts' : ''}`
        on.got.push(said)
        return await on.answer(said)
      },
      cursorText: eventCursors(RING).write,
      chance: () => 1,
      isRevoked: ({ jti }) => jti !== undefined && on.revoked.has(jti),
      onHeard: ({ domain, version }) => on.heard.push(`${domain}/${version}`),
      observe: (report) => on.reports.push(report),
    })
    on.open.push(deliverer)
    await deliverer.start()
    return deliverer
  }
  const subscribe = async (over: Partial<EventSubscription> = {}): Promise<void> => {
    refreshes += 1
    await on.subscriptions.save({
      id: 's',
      refresh: `${refreshes}`,
      sub: 'host',
      scopes: ['care.read.user'],
      jti: 'jti-1',
      patient: 'ann',
      receiver: { url: 'https://receiver.example/', secrets: [{ secret: 'whsec_x' }] },
      cursor: 0,
      expiresAtMs: on.clock.unixMs() + 24 * HOUR_MS,
      isActive: true,
      ...over,
    })
  }
  const write = async (over: Partial<NewRecord> = {}): Promise<void> => {
    await on.store.append(sampleRecord({ value: `${on.got.length} ${Math.random()}`, ...over }))
  }
  const settle = () => on.clock.advanceMsSettled(0)
  return Object.assign(on, { start, subscribe, write, settle })
}
