/** X25: a gate that sells for a token looks before it works, and a payment that has landed is never refused for what it finds. */
import { expect, test } from 'vitest'
import { hederaRequirement } from '../schemes/hedera/exact-hedera-scheme.ts'
import { VALID_DURATION_SECONDS_MAX } from '../schemes/hedera/hbar.ts'
import { AGENT, gateFixture, type Job } from '../testing/gate.fixture.ts'
import { FEE_PAYER, NETWORK, PAY_TO } from '../testing/hedera-stand-in.fixture.ts'

/** Until everything that can run has run. */
async function untilIdle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
}

function shop(amount: bigint) {
  const fixture = gateFixture()
  const { gate, job, ledger } = fixture
  const token = { network: NETWORK, id: '0.0.6001', decimals: 6 }
  const sold = hederaRequirement({ token, amount, payTo: PAY_TO, feePayer: FEE_PAYER })
  const terms = { ...fixture.terms, requirements: [sold] }
  return {
    ...fixture,
    terms,
    sign: () => ledger.pay(terms, { memo: `x402:${AGENT}` }),
    pay: (paymentSignature: string, changes?: Partial<Job>) =>
      gate.pay({ paymentSignature }, terms, job(changes)),
  }
}

const takesFee = 'invalid_exact_hedera_payload_token_takes_fee'
test.each([
  { amount: 10_001n, hasTokenFee: false, reason: 'insufficient_funds' },
  { amount: 10_000n, hasTokenFee: true, reason: takesFee },
])('X25: on $reason nothing is prepared or sent', async ({ amount, hasTokenFee, reason }) => {
  const { ledger, pay, runs, sign } = shop(amount)
  ledger.hasTokenFee = hasTokenFee
  expect(await pay(await sign())).toMatchObject({
    kind: 'challenged',
    error: reason,
    settlement: { success: false, transaction: '' },
  })
  expect([runs.prepared, ledger.settlements]).toEqual([0, 0])
})

test('X25: a payment that landed before this process began is honoured, whatever became of its token', async () => {
  const { ledger, pay, runs, sign, terms } = shop(10_000n)
  const header = await sign()
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString()) as { payload: object }
  const [requirement] = terms.requirements
  if (requirement === undefined) throw new Error('no requirement')
  const verified = await ledger.scheme.verify(payload, requirement)
  if (verified.kind !== 'valid') throw new Error('not valid')
  ledger.land(verified.payment)
  ledger.hasTokenFee = true
  expect((await pay(header)).kind).toBe('paid')
  expect(runs.fulfilled).toBe(1)
})

test('X25: while the mirror node is down the facilitator alone decides', async () => {
  const { ledger, pay, sign } = shop(10_000n)
  const header = await sign()
  ledger.isMirrorDown = true
  expect((await pay(header)).kind).toBe('paid')
})

test('X16: a balance of a token pays for one preparation at a time, not for several at once', async () => {
  const { pay, runs, sign } = shop(6_000n)
  const work = Promise.withResolvers<void>()
  const prepare = async () => {
    runs.prepared += 1
    await work.promise
    return { kind: 'ready', prepared: 'resource' } as const
  }
  const headers = [await sign(), await sign()]
  const paid = headers.map((header, index) => pay(header, { prepare, subject: `call ${index}` }))
  await untilIdle()
  expect(runs.prepared).toBe(1)
  work.resolve()
  expect((await Promise.all(paid)).map(({ kind }) => kind)).toEqual(['paid', 'paid'])
})

test('X25: what is known of payTo serves the payments of the next seconds', async () => {
  const { clock, ledger, pay, sign } = shop(10_000n)
  for (const reads of [1, 1, 2]) {
    expect((await pay(await sign())).kind).toBe('paid')
    expect(ledger.tokenReads).toBe(reads)
    clock.advanceMs(3_000)
  }
})

test('X25: a mirror node that hangs holds nobody up for long; the facilitator decides', async () => {
  const { clock, ledger, pay, sign } = shop(10_000n)
  const header = await sign()
  ledger.mirrorPause = new Promise(() => undefined)
  const paid = pay(header)
  for (let second = 0; second < 10; second += 1) {
    await untilIdle()
    await clock.advanceMsSettled(1_000)
  }
  expect((await paid).kind).toBe('paid')
})

test('X9: a payment whose validity ran down while the ledger was asked is looked up, and not sent', async () => {
  const { clock, ledger, pay, runs, sign } = shop(10_000n)
  const header = await sign()
  clock.advanceMs((VALID_DURATION_SECONDS_MAX - 8 - 31) * 1_000)
  const answering = Promise.withResolvers<void>()
  ledger.mirrorPause = answering.promise
  const paid = pay(header)
  await untilIdle()
  await clock.advanceMsSettled(2_000)
  answering.resolve()
  await untilIdle()
  await clock.advanceMsSettled(120_000)
  expect((await paid).kind).toBe('pending')
  expect([runs.prepared, ledger.settlements]).toEqual([0, 0])
})
