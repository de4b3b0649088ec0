/** Payments whose submission may have failed (X8, X9): who waits for them, and what completes them. */
import { expect, test } from 'vitest'
import { agentMemo } from '../schemes/hedera/payment-memo.ts'
import { AGENT, gateFixture } from '../testing/gate.fixture.ts'
import { HederaStandIn, OTHER_PAYER, PAYER } from '../testing/hedera-stand-in.fixture.ts'

const memo = agentMemo(AGENT)

/** A job for the payer's own address. */
const own = { subject: new HederaStandIn().accounts.get(PAYER)?.evmAddress ?? '' }

test('X9: a stranger’s dying payment never holds an agent back', async () => {
  const { gate, job, ledger, terms } = gateFixture()
  ledger.fault = 'silent'
  const header = await ledger.pay(terms, { payer: OTHER_PAYER, memo })
  const dying = gate.pay({ paymentSignature: header }, terms, job())
  await ledger.clock.advanceMsSettled(13_000)
  expect((await dying).kind).toBe('pending')
  expect(gate.isPending(AGENT)).toBe(false)
  ledger.fault = undefined
  const bought = gate.pay({ paymentSignature: await ledger.pay(terms, { memo }) }, terms, job())
  expect((await bought).kind).toBe('paid')
  // The stranger's is submitted again and lands: from now on there is a record of it.
  ledger.isMirrorDown = true
  await ledger.clock.advanceMsSettled(30_000)
  expect(ledger.records).toHaveLength(2)
})

test('X9: a payment whose submission was lost is submitted again in the background, and completes the job', async () => {
  const { gate, job, ledger, runs, terms } = gateFixture()
  ledger.fault = 'silent'
  const paying = gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job(own))
  await ledger.clock.advanceMsSettled(13_000)
  expect((await paying).kind).toBe('pending')
  ledger.fault = undefined
  await ledger.clock.advanceMsSettled(10_000)
  expect(runs).toMatchObject({ prepared: 1, fulfilled: 1 })
  expect(ledger.records).toHaveLength(1)
  expect(gate.isPending(own.subject)).toBe(false)
})

test('X9: a lost payment whose purchase was made elsewhere meanwhile is not submitted again, then or later', async () => {
  const { gate, job, ledger, terms } = gateFixture()
  const buyer = { isServed: false, isDown: false }
  const isStillWanted = async (): Promise<boolean> => {
    if (buyer.isDown) throw new Error('the ledger is down')
    return !buyer.isServed
  }
  ledger.fault = 'silent'
  const header = await ledger.pay(terms)
  const paying = gate.pay({ paymentSignature: header }, terms, job({ ...own, isStillWanted }))
  await ledger.clock.advanceMsSettled(13_000)
  expect((await paying).kind).toBe('pending')
  ledger.fault = undefined
  // Whether it is wanted cannot be told: it waits.
  buyer.isDown = true
  await ledger.clock.advanceMsSettled(20_000)
  buyer.isDown = false
  buyer.isServed = true
  await ledger.clock.advanceMsSettled(20_000)
  buyer.isServed = false
  await ledger.clock.advanceMsSettled(300_000)
  expect(ledger.records).toEqual([])
  expect(gate.isPending(own.subject)).toBe(false)
})

test('X9: a lost payment that is still wanted once that can be told is submitted again', async () => {
  const { gate, job, ledger, runs, terms } = gateFixture()
  let isDown = true
  const isStillWanted = async (): Promise<boolean> => {
    if (isDown) throw new Error('the ledger is down')
    return true
  }
  ledger.fault = 'silent'
  const header = await ledger.pay(terms)
  const paying = gate.pay({ paymentSignature: header }, terms, job({ ...own, isStillWanted }))
  await ledger.clock.advanceMsSettled(13_000)
  expect((await paying).kind).toBe('pending')
  ledger.fault = undefined
  await ledger.clock.advanceMsSettled(20_000)
  expect(ledger.records).toEqual([])
  isDown = false
  await ledger.clock.advanceMsSettled(20_000)
  expect([runs.fulfilled, ledger.records.length]).toEqual([1, 1])
})

test('X9: a payment whose submission was lost is submitted again at once when its header comes back, even while the mirror lags', async () => {
  const { gate, job, ledger, runs, terms } = gateFixture()
  ledger.fault = 'silent'
  ledger.mirrorLagSeconds = 10
  const header = await ledger.pay(terms)
  const paying = gate.pay({ paymentSignature: header }, terms, job(own))
  await ledger.clock.advanceMsSettled(60_000)
  expect((await paying).kind).toBe('pending')
  ledger.fault = undefined
  const again = gate.pay({ paymentSignature: header }, terms, job(own))
  await ledger.clock.advanceMsSettled(300)
  expect((await again).kind).toBe('paid')
  expect([runs.fulfilled, ledger.records.length]).toEqual([1, 1])
})

test('X8: once a submission may have arrived, no refusal of a later one is believed', async () => {
  const { gate, job, ledger, terms } = gateFixture()
  ledger.fault = 'silent'
  const paying = gate.pay({ paymentSignature: await ledger.pay(terms) }, terms, job(own))
  await ledger.clock.advanceMsSettled(100)
  ledger.fault = { refusal: 'invalid_exact_hedera_payload_preflight_failed' }
  await ledger.clock.advanceMsSettled(13_000)
  expect((await paying).kind).toBe('pending')
  ledger.fault = 'not_reached'
  await ledger.clock.advanceMsSettled(60_000)
  expect(gate.isPending(own.subject)).toBe(true)
})

test('X8: what says that nothing was submitted releases a payment at once', async () => {
  const { gate, job, ledger, terms } = gateFixture()
  const header = await ledger.pay(terms)
  const pay = () => gate.pay({ paymentSignature: header }, terms, job(own))
  ledger.fault = 'not_reached'
  expect(await pay()).toEqual({ kind: 'unavailable', dependency: 'facilitator' })
  for (const refusal of ['transaction_expired', 'insufficient_funds']) {
    ledger.fault = { refusal }
    expect(await pay()).toMatchObject({ kind: 'challenged', error: refusal })
    expect(gate.isPending(own.subject)).toBe(false)
  }
  ledger.fault = undefined
  expect((await pay()).kind).toBe('paid')
})

test('X9: a payment with under 30 s of validity left is never submitted, nor one that is valid for less', async () => {
  const { gate, job, ledger, terms } = gateFixture()
  const header = await ledger.pay(terms)
  await ledger.clock.advanceMsSettled(155_000)
  const paying = gate.pay({ paymentSignature: header }, terms, job())
  await ledger.clock.advanceMsSettled(100_000)
  await paying
  const [requirement] = terms.requirements
  if (requirement === undefined) throw new Error('no requirement')
  const short = { ...terms, requirements: [{ ...requirement, maxTimeoutSeconds: 20 }] }
  expect(await gate.pay({ paymentSignature: await ledger.pay(short) }, short, job())).toMatchObject(
    { kind: 'challenged', error: 'invalid_exact_hedera_payload_validity' },
  )
  expect(ledger.settlements).toBe(0)
})
