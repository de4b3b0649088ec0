/** X15: official clients echo a whole challenge in one header, which must stay under 8 KiB. */
import { x402HTTPClient } from '@x402/core/client'
import type { PaymentRequired } from '@x402/core/types'
import { expect, test } from 'vitest'
import { sellerFields } from '../extensions/seller-fields.ts'
import { createReceiptIssuer } from '../receipts/receipt-issuer.ts'
import { ExactHederaClient } from '../schemes/hedera/exact-hedera-client.ts'
import { AGENT, gateFixture } from '../testing/gate.fixture.ts'
import { PAYER, START_MS } from '../testing/hedera-stand-in.fixture.ts'
import { officialBuyer, SEED } from '../testing/official-shop.fixture.ts'
import { readPaymentHeaders } from './payment-headers.ts'
import { describeCall } from './resource-discovery.ts'

const NODES = ['0.0.3', '0.0.4', '0.0.5', '0.0.6', '0.0.7', '0.0.8', '0.0.9']

/** The longest description that `describeCall` makes. */
function longestDiscovery() {
  const output = { example: {} }
  const described = (filler: string) =>
    describeCall({ input: { method: 'POST', body: { filler }, schema: {} }, output })
  const free = 520 - Buffer.byteLength(JSON.stringify(described('')))
  return described('x'.repeat(free))
}

test('X15: a challenge with every extension at its longest and a 7-node Hedera payment are under 8 KiB', async () => {
  const issuer = createReceiptIssuer({
    baseUrl: 'https://tallystick.example.com',
    privateKey: SEED,
    clock: { unixMs: () => START_MS },
  })
  const { gate, job, ledger, terms } = gateFixture({ receipts: issuer })
  const fields = sellerFields({
    serviceName: 'x'.repeat(32),
    tags: ['a', 'b', 'c', 'd', 'e'].map((tag) => tag.padEnd(32, 'x')),
  })
  const resource = {
    ...terms.resource,
    url: 'https://tallystick.example.com/api/access/access',
    ...fields,
  }
  const sold = { ...terms, resource, discovery: longestDiscovery(), takesIdentifier: true } as const
  const signer = ledger.signers.get(PAYER)
  if (signer === undefined) throw new Error('no payer')
  const { clock } = ledger
  const memo = `x402:${AGENT}`
  const scheme = new ExactHederaClient({ signer, clock, memo, nodeAccountIds: NODES })
  const client = officialBuyer(ledger).register('hedera:testnet', scheme)
  const required = JSON.parse(gate.challenge(sold, 'payment_required').body) as PaymentRequired
  expect(Object.keys(required.extensions ?? {})).toEqual([
    'bazaar',
    'payment-identifier',
    'offer-receipt',
  ])
  const http = new x402HTTPClient(client)
  const payload = await http.createPaymentPayload(required)
  const [paymentSignature = ''] = Object.values(http.encodePaymentSignatureHeader(payload))
  expect(readPaymentHeaders({ paymentSignature }).kind).toBe('read')
  expect(paymentSignature.length).toBeLessThanOrEqual(8_192)
  expect((await gate.pay({ paymentSignature }, sold, job())).kind).toBe('paid')
})
