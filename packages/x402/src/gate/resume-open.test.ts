/** What an earlier or another process over the same store left open (X7, X9), through the gate. */
import { describe, expect, test } from 'vitest'
import { PAYER } from '../testing/hedera-stand-in.fixture.ts'
import {
  crashedFixture,
  deliver,
  elsewhere,
  keptAnswerFixture,
  onlyOpen,
  PENDING,
  plain,
} from '../testing/kept-answer.fixture.ts'
import type { Resumed } from './payment-gate.ts'

/** A second process that waits for the ledger, with a payment that the first one reserved. */
async function waitingReplica() {
  const first = keptAnswerFixture()
  const { ledger, reservations, terms } = first
  ledger.isMirrorDown = true
  ledger.fault = 'answer_lost'
  const header = await ledger.pay(terms)
  void first.send(header)
  await ledger.clock.advanceMsSettled(1_000)
  const second = keptAnswerFixture({ ledger, reservations })
  const waiting = second.send(header)
  await ledger.clock.advanceMsSettled(1_000)
  return { first, header, second, waiting }
}

describe('X7: two processes over one store', () => {
  test('an answer given by one is given by the other too, which does no work of its own', async () => {
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
    await ledger.clock.advanceMsSettled(20_000)
    expect(plain(await waiting)).toEqual({ kind: 'paid', ...paid })
    expect(second.runs.fulfilled).toBe(0)
  })

  test('a payment that one process released and then sold something else for buys nothing at the other', async () => {
    const { first, header, second, waiting } = await waitingReplica()
    const { ledger, reservations } = first
    const [open] = await reservations.open()
    if (open === undefined) throw new Error('nothing is open')
    await reservations.release(open.paymentId)
    await reservations.reserve({ ...open, ...elsewhere })
    ledger.isMirrorDown = false
    await ledger.clock.advanceMsSettled(20_000)
    await waiting
    expect(second.runs.fulfilled).toBe(0)
    expect(await second.send(header)).toMatchObject({ error: 'payment_already_used' })
  })
})

describe('X9: reservations left open are resumed at start', () => {
  test('open reservations block from the start, by fingerprint and by key, before anything is resumed', async () => {
    const { second } = await crashedFixture({ idempotencyKey: 'k' })
    expect(await second.buy()).toEqual(PENDING)
    expect(await second.buy({ idempotencyKey: 'k', ...elsewhere })).toEqual(PENDING)
    expect(second.ledger.settlements).toBe(1)
  })

  test('once resumed, the answer goes to the payer’s next payment, itself left unsettled', async () => {
    const { header, second } = await crashedFixture({ request: '{"pick":1}' })
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

  test('reserved and never sent: refused once its validity ended, and its payer waits until then', async () => {
    const first = keptAnswerFixture()
    const { ledger, reservations } = first
    ledger.fault = 'silent'
    const killed = first.buy()
    await ledger.clock.advanceMsSettled(1_000)
    await first.gate.close()
    await killed
    ledger.fault = undefined
    const second = keptAnswerFixture({ ledger, reservations })
    const resuming = second.gate.resumeOpen(() => second.job())
    await ledger.clock.advanceMsSettled(20_000)
    await resuming
    expect(await second.buy()).toEqual(PENDING)
    await ledger.clock.advanceMsSettled(240_000)
    expect((await second.buy()).kind).toBe('paid')
  })

  test('the work is done with the request of the payment’s first call, even if the payment is sent again', async () => {
    const { header, second } = await crashedFixture({ request: 'received at 1' })
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

  test('a reservation for which no job can be made stays open and keeps its payer waiting; the others are resumed', async () => {
    const { second, first } = await crashedFixture({ request: 'unreadable' })
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
      (each) => resumed.push(each),
    )
    expect(resumed.map(({ end }) => end).toSorted()).toEqual(['failed', 'left_open'])
    expect(await second.buy()).toEqual(PENDING)
  })

  test('a paid payment is never given up because its work fails: the work is retried, and nothing is released', async () => {
    const { second } = await crashedFixture()
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
    await ledger.clock.advanceMsSettled(200)
    expect(await reservations.open()).toHaveLength(1)
    await ledger.clock.advanceMsSettled(10_000)
    await resuming
    expect(runs.fulfilled).toBe(1)
    expect(events.filter(({ kind }) => kind === 'retrying')).toHaveLength(3)
  })

  test('two open payments from one payer for one thing do not block each other', async () => {
    const { first, second } = await crashedFixture()
    const { reservations } = second
    const open = await onlyOpen(first.reservations)
    const { keepsAnswer: _, ...plainOne } = open
    const payment = { ...open.payment, id: 'hedera:testnet/other', nonce: `${open.payment.nonce}1` }
    await reservations.reserve({ ...plainOne, paymentId: payment.id, payment })
    const ends: string[] = []
    const resuming = second.gate.resumeOpen(
      () => second.job(),
      ({ end }) => ends.push(end),
    )
    await second.ledger.clock.advanceMsSettled(240_000)
    await resuming
    expect(await reservations.open()).toEqual([])
    expect(ends).toContain('paid')
  })
})
