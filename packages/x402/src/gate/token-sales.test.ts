/** X25: a gate that sells for a token looks before it works, and a payment that has landed is never refused for what it finds. */
import { expect, test } from 'vitest'
import { hederaRequirement } from '../schemes/hedera/exact-hedera-scheme.ts'
import { AGENT, gateFixture } from '../testing/gate.fixture.ts'
import { FEE_PAYER, NETWORK, PAY_TO } from '../testing/hedera-stand-in.fixture.ts'

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
    pay: (paymentSignature: string) => gate.pay({ paymentSignature }, terms, job()),
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
