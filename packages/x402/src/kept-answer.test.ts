/** Answers that are kept for their payer (X9, G4), through the gate; a crash is a second gate over the same store. */
import { describe, expect, test } from 'vitest'
import { KEPT_REQUEST_BYTES_MAX } from './gate-limits.ts'
import { createMemoryReservationStore } from './memory-reservation-store.ts'
import type { KeptJob, PaymentOutcome } from './payment-gate.ts'
import type { ReservationStore } from './reservation-store.ts'
import type { Resumed } from './resume-open.ts'
import { AGENT, type GateHouseOptions, type Grant, gateHouse } from './testing/gate-house.ts'
import { HederaStandIn, OTHER_PAYER, PAYER } from './testing/hedera-stand-in.ts'

type Kept = KeptJob<string, Grant, string>
type Outcome = PaymentOutcome<Grant, string>

const PENDING = { kind: 'pending', retryAfterSeconds: 3 }
const HOUR_MS = 3_600_000

/** A gate whose jobs keep their answers; each fulfilment grants something else. */
function keptHouse(options: GateHouseOptions = {}) {
  const house = gateHouse(options)
  const { gate, ledger, runs, terms } = house
  const job = (changes: Partial<Kept> = {}): Kept => ({
    ...house.job(),
    fingerprint: 'POST /api/grade a',
    subject: 'POST /api/grade a',
    mayHonour: async () => true,
    async fulfil(prepared, { payment }) {
      runs.fulfilled += 1
      return { granted: `${prepared} ${runs.fulfilled}`, payer: payment.payer }
    },
    ...changes,
    keepsAnswer: true,
  })
  const send = (header: string, changes: Partial<Kept> = {}): Promise<Outcome> =>
    gate.pay({ paymentSignature: header }, terms, job(changes))
  /** A call with a payment that was never seen before. */
  const buy = async (changes: Partial<Kept> & { payer?: string } = {}): Promise<Outcome> => {
    const { payer = PAYER, ...rest } = changes
    return await send(await ledger.pay(terms, { payer }), rest)
  }
  return { ...house, job, send, buy }
}

/** What an earlier process leaves: a payment that was settled, and a kill before its answer was kept. */
async function crashedHouse(changes: Partial<Kept> = {}) {
  const first = keptHouse()
  const header = await first.ledger.pay(first.terms)
  const killed = first.send(header, {
    ...changes,
    async fulfil() {
      throw new Error('killed')
    },
  })
  await first.ledger.clock.advanceMs(1_000)
  await first.gate.close()
  await killed
  const { ledger, reservations } = first
  return { header, first, second: keptHouse({ ledger, reservations }) }
}

/** A store whose answers cannot be written while `isFull`. */
function fillingStore(ledger: HederaStandIn) {
  const store = createMemoryReservationStore({ clock: ledger.clock })
  const disk = { isFull: false }
  const unlessFull = async (run: () => Promise<void>): Promise<void> => {
    if (disk.isFull) throw new Error('disk full')
    await run()
  }
  const reservations: ReservationStore = {
    ...store,
    keepAnswer: (paymentId, kept) => unlessFull(() => store.keepAnswer(paymentId, kept)),
    release: (paymentId) => unlessFull(() => store.release(paymentId)),
    markDelivered: (paymentId) => unlessFull(() => store.markDelivered(paymentId)),
  }
  return { disk, reservations }
}

/** A gate with a payment that may have been settled; its ledger cannot be read. */
async function inDoubt(changes: Partial<Kept> = {}) {
  const house = keptHouse()
  const { ledger, send, terms } = house
  ledger.fault = 'answer_lost'
  ledger.isMirrorDown = true
  const header = await ledger.pay(terms)
  const first = send(header, changes)
  await ledger.clock.advanceMs(13_000)
  expect(await first).toEqual(PENDING)
  ledger.fault = undefined
  return { ...house, header }
}

async function deliver(outcome: Outcome): Promise<void> {
  if (outcome.kind !== 'paid' || outcome.delivered === undefined) throw new Error(outcome.kind)
  await outcome.delivered()
}

const isSettled = async (ledger: HederaStandIn, run: () => Promise<unknown>): Promise<boolean> => {
  const before = ledger.settlements
  await run()
  return ledger.settlements > before
}

/** An outcome without the function that an answer comes with. */
const plain = (outcome: Outcome): unknown => JSON.parse(JSON.stringify(outcome))

describe('G4: Idempotency-Key is scoped to the payer', () => {
  test('same key and body, same card, one charge, also after delivery; the settlement is the first payment’s', async () => {
    const { buy, ledger, runs } = keptHouse()
    const first = await buy({ idempotencyKey: 'k' })
    for (const _ of [1, 2, 3]) {
      const again = await buy({ idempotencyKey: 'k' })
      expect(plain(again)).toEqual(plain(first))
      await deliver(again)
    }
    expect(ledger.settlements).toBe(1)
    expect(runs.fulfilled).toBe(1)
  })

  test('same key and another body, 409 before settlement', async () => {
    const { buy, ledger } = keptHouse()
    await deliver(await buy({ idempotencyKey: 'k' }))
    const other = await buy({ idempotencyKey: 'k', fingerprint: 'POST /api/grade b' })
    expect(other).toEqual({ kind: 'key_conflict' })
    expect(ledger.settlements).toBe(1)
  })

  test('another payer’s same key is another key', async () => {
    const { buy, ledger } = keptHouse()
    await buy({ idempotencyKey: 'k' })
    const other = await buy({ idempotencyKey: 'k', payer: OTHER_PAYER })
    expect(other).toMatchObject({ kind: 'paid', answer: { payer: OTHER_PAYER } })
    expect(ledger.settlements).toBe(2)
  })

  test('two different payments with one key at once: one settlement', async () => {
    const { buy, ledger, runs } = keptHouse()
    const outcomes = await Promise.all([1, 2].map(() => buy({ idempotencyKey: 'k' })))
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['paid', 'pending'])
    expect((await buy({ idempotencyKey: 'k' })).kind).toBe('paid')
    expect([ledger.settlements, runs.fulfilled]).toEqual([1, 1])
  })

  test('a hundred payments with one key at once, each for something else: one settlement', async () => {
    const { buy, ledger } = keptHouse()
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const fingerprint = `POST /api/grade ${index}`
        return buy({ idempotencyKey: 'k', fingerprint, subject: fingerprint })
      }),
    )
    expect(outcomes.filter(({ kind }) => kind === 'paid')).toHaveLength(1)
    expect(outcomes.filter(({ kind }) => kind === 'pending')).toHaveLength(99)
    expect(ledger.settlements).toBe(1)
  })

  test('a key whose payment was refused is free again', async () => {
    const { buy, ledger } = keptHouse()
    ledger.fault = { refusal: 'insufficient_funds' }
    expect((await buy({ idempotencyKey: 'k' })).kind).toBe('challenged')
    ledger.fault = undefined
    const other = await buy({ idempotencyKey: 'k', fingerprint: 'POST /api/grade b' })
    expect(other.kind).toBe('paid')
  })

  test('a key is kept as long as its answer: a day, and not for ever', async () => {
    const { buy, ledger } = keptHouse()
    const first = await buy({ idempotencyKey: 'k' })
    await deliver(first)
    await ledger.clock.advanceMs(24 * HOUR_MS)
    expect(plain(await buy({ idempotencyKey: 'k' }))).toEqual(plain(first))
    expect(ledger.settlements).toBe(1)
    await ledger.clock.advanceMs(1 * HOUR_MS)
    const fresh = await buy({ idempotencyKey: 'k', fingerprint: 'POST /api/grade b' })
    expect(fresh.kind).toBe('paid')
    expect(ledger.settlements).toBe(2)
  })
})

describe('X9: while a payer’s payment is unresolved', () => {
  test('another payment of that payer with the same fingerprint is pending, unsettled', async () => {
    const { buy, ledger } = await inDoubt()
    expect(await buy()).toEqual(PENDING)
    expect(await buy({ idempotencyKey: 'k' })).toEqual(PENDING)
    expect(ledger.settlements).toBe(1)
  })

  test('another payment of that payer with the same Idempotency-Key is pending, unsettled, whatever it asks', async () => {
    const { buy, ledger } = await inDoubt({ idempotencyKey: 'k' })
    expect(await buy({ idempotencyKey: 'k', ...elsewhere })).toEqual(PENDING)
    expect(ledger.settlements).toBe(1)
  })

  test('its payments for something else, and everybody else’s, are not held up', async () => {
    const { buy } = await inDoubt({ idempotencyKey: 'k' })
    expect((await buy(elsewhere)).kind).toBe('paid')
    expect((await buy({ payer: OTHER_PAYER, idempotencyKey: 'k' })).kind).toBe('paid')
  })

  test('once it is resolved and its answer was never delivered, the next such payment gets that answer, itself left unsettled', async () => {
    const { buy, header, ledger, runs, send } = await inDoubt()
    ledger.isMirrorDown = false
    await ledger.clock.advanceMs(10_000)
    const next = await buy()
    expect(next).toMatchObject({ kind: 'paid', answer: { granted: 'resource 1' } })
    expect([ledger.settlements, runs.fulfilled]).toEqual([1, 1])
    expect(plain(await send(header))).toEqual(plain(next))
  })

  test('once it is resolved, the next payment with its key gets its answer, or is a conflict', async () => {
    const { buy, ledger } = await inDoubt({ idempotencyKey: 'k' })
    ledger.isMirrorDown = false
    await ledger.clock.advanceMs(10_000)
    expect(await buy({ idempotencyKey: 'k', ...elsewhere })).toEqual({ kind: 'key_conflict' })
    expect((await buy({ idempotencyKey: 'k' })).kind).toBe('paid')
    expect(ledger.settlements).toBe(1)
  })
})

describe('X9: an answer that was never delivered', () => {
  test('goes to each next payment until it is delivered; then an identical one buys anew', async () => {
    const { buy, ledger } = keptHouse()
    const first = await buy()
    const second = await buy()
    expect(plain(second)).toEqual(plain(first))
    expect(plain(await buy())).toEqual(plain(first))
    expect(ledger.settlements).toBe(1)
    await deliver(second)
    expect(await buy()).toMatchObject({ kind: 'paid', answer: { granted: 'resource 2' } })
    expect(ledger.settlements).toBe(2)
  })

  test('a crash between send and mark errs in the payer’s favour: the same answer once more, unsettled', async () => {
    const first = keptHouse()
    const { ledger, reservations } = first
    const sent = await first.buy()
    await first.gate.close()
    const second = keptHouse({ ledger, reservations })
    const again = await second.buy()
    expect(plain(again)).toEqual(plain(sent))
    await deliver(again)
    expect(ledger.settlements).toBe(1)
    expect(await isSettled(ledger, () => second.buy())).toBe(true)
  })

  test('a payment that was given an answer is never settled: sent again it gets the same, also after delivery', async () => {
    const { buy, ledger, send, terms } = keptHouse()
    const first = await buy()
    const header = await ledger.pay(terms)
    await deliver(await send(header))
    expect(plain(await send(header))).toEqual(plain(first))
    expect(await send(header, elsewhere)).toEqual({
      kind: 'challenged',
      error: 'payment_already_used',
    })
    expect(ledger.settlements).toBe(1)
  })

  test('the very same payment sent again keeps giving its stored answer, delivered or not', async () => {
    const { ledger, send, terms } = keptHouse()
    const header = await ledger.pay(terms)
    const first = await send(header)
    await deliver(first)
    expect(plain(await send(header))).toEqual(plain(first))
    expect(ledger.settlements).toBe(1)
  })

  test('a payment whose validity ended proves nothing about who sends it: it gets no answer, and uses none up', async () => {
    const { buy, ledger, send, terms } = keptHouse()
    const old = await ledger.pay(terms)
    await ledger.clock.advanceMs(240_000)
    const first = await buy()
    expect(await send(old)).toMatchObject({ kind: 'challenged', error: 'transaction_expired' })
    expect(plain(await buy())).toEqual(plain(first))
  })

  test('a job that does not keep its answer sells each payment anew, and asks for no delivery', async () => {
    const { gate, job, ledger, terms } = gateHouse()
    for (const settlements of [1, 2]) {
      const header = await ledger.pay(terms)
      const outcome = await gate.pay({ paymentSignature: header }, terms, job())
      expect(outcome).toMatchObject({ kind: 'paid' })
      expect(outcome).not.toHaveProperty('delivered')
      expect(ledger.settlements).toBe(settlements)
    }
  })
})

/** A second process that waits for the ledger with a payment which the first one has reserved. */
async function waitingReplica() {
  const first = keptHouse()
  const { ledger, reservations, terms } = first
  ledger.isMirrorDown = true
  ledger.fault = 'answer_lost'
  const header = await ledger.pay(terms)
  void first.send(header)
  await ledger.clock.advanceMs(1_000)
  const second = keptHouse({ ledger, reservations })
  const waiting = second.send(header)
  await ledger.clock.advanceMs(1_000)
  return { first, header, second, waiting }
}

describe('X7: two processes over one store', () => {
  test('what the one has answered the other gives too, and does no work of its own', async () => {
    const { first, second, waiting } = await waitingReplica()
    const { ledger, reservations } = first
    await first.gate.close()
    const [open] = await reservations.open()
    if (open === undefined) throw new Error('nothing is open')
    const settlement = { success: true, transaction: open.paymentId, network: 'hedera:testnet' }
    const paid = { answer: { granted: 'by the first', payer: PAYER }, settlement }
    const expiresAtSeconds = open.expiresAtSeconds + 600
    await reservations.keepAnswer(open.paymentId, {
      answer: JSON.stringify(paid),
      expiresAtSeconds,
    })
    ledger.isMirrorDown = false
    await ledger.clock.advanceMs(20_000)
    expect(plain(await waiting)).toEqual({ kind: 'paid', ...paid })
    expect(second.runs.fulfilled).toBe(0)
  })

  test('a payment that the one released and then sold something else for buys nothing at the other', async () => {
    const { first, header, second, waiting } = await waitingReplica()
    const { ledger, reservations } = first
    const [open] = await reservations.open()
    if (open === undefined) throw new Error('nothing is open')
    await reservations.release(open.paymentId)
    await reservations.reserve({ ...open, ...elsewhere })
    ledger.isMirrorDown = false
    await ledger.clock.advanceMs(20_000)
    await waiting
    expect(second.runs.fulfilled).toBe(0)
    expect(await second.send(header)).toMatchObject({ error: 'payment_already_used' })
  })
})

describe('X9: reservations left open are resumed at start', () => {
  test('what is open blocks from the moment of start, by fingerprint and by key, before anything is resumed', async () => {
    const { second } = await crashedHouse({ idempotencyKey: 'k' })
    expect(await second.buy()).toEqual(PENDING)
    expect(await second.buy({ idempotencyKey: 'k', ...elsewhere })).toEqual(PENDING)
    expect(second.ledger.settlements).toBe(1)
  })

  test('resumed, the answer goes to the payer’s next payment, itself left unsettled', async () => {
    const { header, second } = await crashedHouse({ request: '{"pick":1}' })
    const { gate, job, ledger, runs } = second
    const ends: Resumed['end'][] = []
    await gate.resumeOpen(
      (left) => job({ request: left.request }),
      ({ end }) => ends.push(end),
    )
    expect(ends).toEqual(['paid'])
    expect(runs.fulfilled).toBe(1)
    const next = await second.buy()
    expect(next.kind).toBe('paid')
    await deliver(next)
    expect(plain(await second.send(header))).toEqual(plain(next))
    expect([ledger.settlements, runs.fulfilled]).toEqual([1, 1])
  })

  test('reserved and never sent: refused once its validity ended, and until then its payer waits', async () => {
    const first = keptHouse()
    const { ledger, reservations } = first
    ledger.fault = 'silent'
    const killed = first.buy()
    await ledger.clock.advanceMs(1_000)
    await first.gate.close()
    await killed
    ledger.fault = undefined
    const second = keptHouse({ ledger, reservations })
    const resuming = second.gate.resumeOpen(() => second.job())
    await ledger.clock.advanceMs(20_000)
    await resuming
    expect(await second.buy()).toEqual(PENDING)
    await ledger.clock.advanceMs(240_000)
    expect((await second.buy()).kind).toBe('paid')
  })

  test('its work is done with the request of the payment’s first call, also where the payment is sent again', async () => {
    const { header, second } = await crashedHouse({ request: 'received at 1' })
    const requests: (string | undefined)[] = []
    await second.send(header, {
      request: 'received at 2',
      async prepare(_payment, request) {
        requests.push(request)
        return { kind: 'ready', prepared: 'resource' }
      },
    })
    expect(requests).toEqual(['received at 1'])
  })

  test('one that no job can be made for stays open and keeps its payer waiting; the others are resumed', async () => {
    const { second, first } = await crashedHouse({ request: 'unreadable' })
    await second.reservations.reserve({
      ...(await onlyOpen(first.reservations)),
      paymentId: 'hedera:testnet/other',
      fingerprint: 'never to be found',
    })
    const resumed: Resumed[] = []
    await second.gate.resumeOpen(
      (left) => {
        if (left.request === 'unreadable' && left.paymentId.endsWith('other')) return undefined
        throw new Error('a job that cannot be made')
      },
      (one) => resumed.push(one),
    )
    expect(resumed.map(({ end }) => end).toSorted()).toEqual(['failed', 'left_open'])
    expect(await second.buy()).toEqual(PENDING)
  })

  test('what was paid is never given up because its work fails: it is tried again, and nothing is released', async () => {
    const { second } = await crashedHouse()
    const { events, gate, job, ledger, reservations, runs } = second
    let failures = 3
    const flaky = job({
      async prepare() {
        failures -= 1
        if (failures >= 0) throw new Error('the ledger of closes is busy')
        return { kind: 'ready', prepared: 'resource' }
      },
    })
    const resuming = gate.resumeOpen(() => flaky)
    await ledger.clock.advanceMs(200)
    expect(await reservations.open()).toHaveLength(1)
    await ledger.clock.advanceMs(10_000)
    await resuming
    expect(runs.fulfilled).toBe(1)
    expect(events.filter(({ kind }) => kind === 'retrying')).toHaveLength(3)
  })

  test('two open ones of one payer for one thing do not stop each other', async () => {
    const { first, second } = await crashedHouse()
    const { reservations } = second
    const one = await onlyOpen(first.reservations)
    const { keepsAnswer: _, ...plainOne } = one
    const payment = { ...one.payment, id: 'hedera:testnet/other', nonce: `${one.payment.nonce}1` }
    await reservations.reserve({ ...plainOne, paymentId: payment.id, payment })
    const ends: string[] = []
    const resuming = second.gate.resumeOpen(
      () => second.job(),
      ({ end }) => ends.push(end),
    )
    await second.ledger.clock.advanceMs(240_000)
    await resuming
    expect(await reservations.open()).toEqual([])
    expect(ends).toContain('paid')
  })
})

describe('a store that fails after settlement', () => {
  test('owes the answer: it is kept before the payer’s next payment is looked at', async () => {
    const ledger = new HederaStandIn()
    const { disk, reservations } = fillingStore(ledger)
    const { buy, events, header, send } = await withHeader(keptHouse({ ledger, reservations }))
    disk.isFull = true
    const first = await send(header, { idempotencyKey: 'k' })
    await deliver(first)
    expect(events.filter(({ kind }) => kind === 'store_failed')).toHaveLength(2)
    await expect(buy({ idempotencyKey: 'k' })).rejects.toThrow('disk full')
    disk.isFull = false
    expect(plain(await buy({ idempotencyKey: 'k' }))).toEqual(plain(first))
    expect(plain(await send(header))).toEqual(plain(first))
    expect(ledger.settlements).toBe(1)
  })

  test('owes the release of a refused payment: its payer does not wait for the next start', async () => {
    const ledger = new HederaStandIn()
    const { disk, reservations } = fillingStore(ledger)
    const { buy, header, send } = await withHeader(keptHouse({ ledger, reservations }))
    disk.isFull = true
    ledger.fault = { refusal: 'insufficient_funds' }
    expect((await send(header)).kind).toBe('challenged')
    ledger.fault = undefined
    disk.isFull = false
    expect((await buy()).kind).toBe('paid')
    expect(await reservations.open()).toEqual([])
  })
})

test('a request that is too large to be kept is a mistake of the route: thrown, unsettled', async () => {
  const { buy, ledger, reservations } = keptHouse()
  const request = 'é'.repeat(KEPT_REQUEST_BYTES_MAX / 2 + 1)
  await expect(buy({ request })).rejects.toThrow(RangeError)
  expect(ledger.settlements).toBe(0)
  expect(await reservations.open()).toEqual([])
})

test('X9: a kept job’s subject waits as any other’s', async () => {
  const { gate, ledger, send, terms } = keptHouse()
  ledger.fault = 'answer_lost'
  ledger.isMirrorDown = true
  const paying = send(await ledger.pay(terms), { subject: AGENT })
  await ledger.clock.advanceMs(13_000)
  await paying
  expect(gate.isPending(AGENT)).toBe(true)
})

const elsewhere = { fingerprint: 'POST /api/grade b', subject: 'POST /api/grade b' }

async function withHeader<House extends ReturnType<typeof keptHouse>>(house: House) {
  return { ...house, header: await house.ledger.pay(house.terms) }
}

async function onlyOpen(reservations: ReservationStore) {
  const [open] = await reservations.open()
  if (open === undefined) throw new Error('nothing is open')
  return open
}
