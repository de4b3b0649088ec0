import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import type { VerifiedPayment } from '../payment.ts'
import { agentMemo } from '../schemes/hedera/payment-memo.ts'
import { AGENT, gateFixture } from '../testing/gate.fixture.ts'
import { HederaStandIn } from '../testing/hedera-stand-in.fixture.ts'
import { makePayment } from '../testing/payment-header.fixture.ts'
import { DEFAULT_GATE_LIMITS } from './gate-limits.ts'
import { createLedgerPoller, type Resolved } from './ledger-poller.ts'

const NEVER: Resolved = { kind: 'never' }

/** A poller, and payments whose look-ups are counted. */
async function pollerFixture() {
  const ledger = new HederaStandIn()
  const { terms } = gateFixture({ ledger })
  const signed = await makePayment(ledger, { header: await ledger.pay(terms), terms })
  const clock = manualClock(ledger.clock.unixMs())
  const poller = createLedgerPoller(clock, DEFAULT_GATE_LIMITS)
  const looks: string[] = []
  const wait = (change: Partial<VerifiedPayment>, quietUntilMs?: number) => {
    const payment = { ...signed, ...change }
    const look = async () => {
      looks.push(payment.id)
      return undefined
    }
    poller.resolve({ payment, quietUntilMs, look }).catch(() => undefined)
  }
  return { clock, looks, poller, signed, wait }
}

test('X23: however many payments are in doubt, ten look-ups begin in a second, those sent from here first', async () => {
  const { clock, looks, wait } = await pollerFixture()
  const strangers = Array.from({ length: 60 }, (_, at) => `stranger-${at}`)
  for (const id of strangers) wait({ id, payer: id }, clock.unixMs() + 90_000)
  const counts: number[] = []
  for (let second = 0; second < 4; second += 1) {
    if (second === 1) wait({ id: 'sent', payer: 'buyer' })
    const before = looks.length
    await clock.advanceMsSettled(1_000)
    counts.push(looks.length - before)
  }
  expect(Math.max(...counts)).toBeLessThanOrEqual(10)
  expect(looks.slice(10, 21)).toContain('sent')
  // The payment sent from here is looked up again and again, each of the others once.
  expect(looks.filter((id) => id === 'sent').length).toBeGreaterThan(1)
  expect(new Set(looks).size).toBe(looks.length - looks.filter((id) => id === 'sent').length + 1)
})

test('X23: at most four look-ups of one payer are under way, and nobody else waits for them', async () => {
  const { clock, poller, signed } = await pollerFixture()
  const under: string[] = []
  const wait = (change: Partial<VerifiedPayment>) =>
    poller
      .resolve({
        payment: { ...signed, ...change },
        look: () => {
          under.push(change.payer ?? '')
          return new Promise(() => undefined)
        },
      })
      .catch(() => undefined)
  for (let at = 0; at < 6; at += 1) void wait({ id: `many-${at}`, payer: 'many' })
  void wait({ id: 'other', payer: 'other' })
  await clock.advanceMsSettled(5_000)
  expect(under).toEqual(['many', 'many', 'many', 'many', 'other'])
})

test('X23: a header sent again and again wakes its payment no oftener than its sender was told to come back', async () => {
  const { clock, looks, poller, wait } = await pollerFixture()
  wait({ id: 'woken' }, clock.unixMs() + 90_000)
  for (let call = 0; call < 300; call += 1) {
    poller.wake('woken')
    await clock.advanceMsSettled(100)
  }
  expect(looks.length).toBeGreaterThan(5)
  expect(looks.length).toBeLessThanOrEqual(11)
})

test('X23: of payments about to expire, four of one payer are looked up at once, and again when their validity is over', async () => {
  const { gate, job, ledger, terms } = gateFixture()
  const memo = agentMemo(AGENT)
  const headers = await Promise.all(Array.from({ length: 8 }, () => ledger.pay(terms, { memo })))
  await ledger.clock.advanceMsSettled(151_000)
  const answers = headers.map((paymentSignature, at) =>
    gate.pay({ paymentSignature }, terms, job({ fingerprint: `for agent ${at}` })),
  )
  await ledger.clock.advanceMsSettled(50_000)
  expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(headers.map(() => 'pending'))
  expect(ledger.lookUps).toBe(4)
  await ledger.clock.advanceMsSettled(30_000)
  expect(ledger.lookUps).toBe(8)
})

test('a look-up that its answer overtakes ends with that answer, and a closed poller waits for nobody', async () => {
  const { clock, poller, signed } = await pollerFixture()
  const overtaken = poller.resolve({ payment: signed, look: async () => undefined })
  poller.found(signed.id, NEVER)
  expect(await overtaken).toBe(NEVER)
  const waiting = poller.resolve({ payment: signed, look: async () => undefined })
  const ended = waiting.catch(String)
  await clock.advanceMsSettled(100)
  poller.close()
  expect(await ended).toContain('the gate is closed')
})
