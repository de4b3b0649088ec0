// X17, X18: what the agent does with names, offers and receipts, against a service that signs them.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiptIssuer, type ReceiptIssuer, systemClock } from '@tallystick/x402'
import { canonicalTransactionId } from '@tallystick/x402/hedera'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AccessAgentOptions, createAccessAgent } from './access-agent.ts'
import {
  type Answer,
  challenge,
  failed,
  granted,
  PRICE_TINYBAR,
  type StandIn,
  signedTransfer,
  startStandIn,
} from './access-stand-in.fixture.ts'
import { agentSigner } from './agent-signer.ts'
import { runAgentHere } from './command/run-agent.fixture.ts'
import type { PurchaseEvidence } from './purchase-evidence.ts'

const KEY = `${'0'.repeat(63)}7`
const PAYER = '0.0.1004'
const signer = agentSigner({ privateKey: KEY, accountId: PAYER })
const folder = mkdtempSync(join(tmpdir(), 'receipts-'))

let service: StandIn
let issuer: ReceiptIssuer

beforeEach(async () => {
  service = await startStandIn()
  const privateKey = '07'.repeat(32)
  issuer = createReceiptIssuer({ baseUrl: service.baseUrl, privateKey, clock: systemClock })
  service.didDocument = issuer.didDocument
})

afterEach(async () => {
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Json = Record<string, unknown>
const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

/** A challenge with a signed offer, for a seller that takes names. */
function signedChallenge(): Answer {
  const plain = challenge()
  if (typeof plain === 'string') throw new Error('no challenge')
  const { accepts, ...body } = plain.body as Json & { accepts: readonly never[] }
  const url = `${service.baseUrl}/api/svc/access`
  const resource = { ...(body['resource'] as Json), url }
  const offers = issuer.offersFor({ requirements: accepts, resource } as never)
  const extensions = {
    'payment-identifier': { info: { required: false } },
    'offer-receipt': { info: { offers } },
  }
  const all = { ...body, accepts, resource, extensions }
  return { status: 402, body: all, headers: { 'payment-required': base64(all) } }
}

/** A paid answer with a receipt for what was sent last. */
const receipted =
  (changes: { readonly payer?: string; readonly by?: ReceiptIssuer } = {}) =>
  (): Answer => {
    const { payer = PAYER, by = issuer } = changes
    const { transactionId } = signedTransfer(service.payments.at(-1))
    const transaction = canonicalTransactionId(transactionId)
    const settlement = by.withReceipt(
      { success: true, transaction, network: 'hedera:testnet', payer },
      { payer, resourceUrl: `${service.baseUrl}/api/svc/access` },
    )
    const answer = granted(true)
    if (typeof answer === 'string') throw new Error('no answer')
    return { ...answer, headers: { 'payment-response': base64(settlement) } }
  }

const agent = (options: Partial<AccessAgentOptions> = {}) =>
  createAccessAgent({
    baseUrl: service.baseUrl,
    serviceName: 'svc',
    signer,
    clock: systemClock,
    maxPaymentTinybar: PRICE_TINYBAR,
    ...options,
  })

describe('X18: a purchase', () => {
  test('offer and receipt are proven, kept, and part of the outcome', async () => {
    const evidences: PurchaseEvidence[] = []
    service.script(signedChallenge(), receipted())
    const outcome = await agent({ keep: (evidence) => evidences.push(evidence) }).access()
    expect(outcome).toMatchObject({
      kind: 'granted',
      evidence: {
        amount: PRICE_TINYBAR,
        asset: '0.0.0',
        offer: { kind: 'proven', statement: { amount: PRICE_TINYBAR.toString() } },
        receipt: { kind: 'proven', statement: { payer: PAYER } },
      },
    })
    expect(evidences).toEqual([outcome.kind === 'granted' && outcome.evidence])
  })

  test('a receipt for another payer proves nothing, and the purchase stands', async () => {
    service.script(signedChallenge(), receipted({ payer: '0.0.66' }))
    expect(await agent().access()).toMatchObject({
      kind: 'granted',
      evidence: { receipt: { kind: 'unproven', reason: 'contradicts' } },
    })
  })

  test('a receipt signed by somebody else under the service’s name proves nothing', async () => {
    const privateKey = '08'.repeat(32)
    const by = createReceiptIssuer({ baseUrl: service.baseUrl, privateKey, clock: systemClock })
    service.script(signedChallenge(), receipted({ by }))
    expect(await agent().access()).toMatchObject({
      evidence: { receipt: { kind: 'unproven', reason: 'signature_invalid' } },
    })
  })

  test('an offer is kept also of a payment whose fate stays open', async () => {
    const evidences: PurchaseEvidence[] = []
    service.script(signedChallenge(), failed(502, 'payment_pending'))
    const outcome = await agent({
      resendMs: 0,
      keep: (evidence) => evidences.push(evidence),
    }).access()
    expect(outcome.kind).toBe('payment-pending')
    expect(evidences).toMatchObject([{ offer: { kind: 'proven' }, receipt: { kind: 'absent' } }])
  })

  test('a service that signs nothing is paid as before', async () => {
    service.script(challenge(), granted(true))
    const absent = { kind: 'absent' }
    expect(await agent().access()).toMatchObject({
      kind: 'granted',
      evidence: { offer: absent, receipt: absent },
    })
  })
})

const nameIn = (header: string | undefined) =>
  decodePaymentSignatureHeader(header ?? '').extensions?.['payment-identifier']

describe('X17: a request is named', () => {
  test('where the seller takes names, with a new one for each request', async () => {
    service.script(signedChallenge(), granted(true), signedChallenge(), granted(true))
    const names = []
    for (const at of [1, 3]) {
      const outcome = await agent().access()
      if (outcome.kind !== 'granted') throw new Error(outcome.kind)
      const id = expect.stringMatching(/^pay_[0-9a-f]{32}$/)
      expect(nameIn(service.payments[at])).toEqual({ info: { required: false, id } })
      expect(outcome.signedPayment?.identifier).toEqual(id)
      names.push(outcome.signedPayment?.identifier)
    }
    expect(names[0]).not.toBe(names[1])
  })

  test('and nowhere else', async () => {
    service.script(challenge(), granted(true))
    await agent().access()
    expect(nameIn(service.payments[1])).toBeUndefined()
  })
})

test('X18: the command says what the receipt is worth, and keeps it in a file for its owner alone', async () => {
  const file = join(mkdtempSync(folder), 'receipts.jsonl')
  service.script(signedChallenge(), receipted())
  const { code, out } = await runAgentHere({
    arguments: ['pay', '--max-hbar', '12', '--unguarded'],
    environment: {
      AGENT_KEY: KEY,
      AGENT_ACCOUNT_ID: PAYER,
      ACCESS_URL: service.baseUrl,
      RECEIPTS_FILE: file,
    },
    clock: systemClock,
  })
  expect([code, out]).toEqual([
    0,
    expect.stringContaining('The service signed a receipt for it, and the signature is its own.'),
  ])
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ receipt: { kind: 'proven' } })
  expect(statSync(file).mode & 0o777).toBe(0o600)
})
