/** What the facilitator refuses, what the ledger decides, and what was never submitted: on a local ledger, over HTTP. */
import { AccountId, Hbar, PrivateKey, Timestamp, TransactionId } from '@hiero-ledger/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type HederaFixture,
  NOTHING_MOVED,
  PRICE,
  post,
  refusal,
  startHederaFixture,
  wrap,
} from '../testing/hedera.fixture.ts'

let fixture: HederaFixture

beforeAll(async () => {
  fixture = await startHederaFixture()
})

afterAll(() => fixture.stop())

describe('X8: refusals made before submission name no transaction', () => {
  test('a signature by another key', async () => {
    const stranger = { accountId: fixture.payer.accountId, privateKey: fixture.seller.privateKey }
    expect(
      await fixture.attempt(await fixture.pay(fixture.makeRequirement(), stranger)),
    ).toMatchObject(refusal('invalid_exact_hedera_payload_signed_by_another_key'))
  })

  test('a false signature under the fee payer’s key', async () => {
    const falsely = PrivateKey.generateECDSA()
    const key = PrivateKey.fromStringECDSA(fixture.feePayer.privateKey).publicKey
    const payload = await fixture.payBySdk({
      sign: (transaction) => transaction.signWith(key, async (bytes) => falsely.sign(bytes)),
    })
    expect(await fixture.settle(payload)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_hedera_payload_signature_invalid',
      transaction: '',
    })
  })

  test('a payer who holds less than the amount', async () => {
    const poor = await fixture.devnet.createAccount({ name: 'poor', balanceTinybar: PRICE - 1n })
    expect(await fixture.attempt(await fixture.pay(fixture.makeRequirement(), poor))).toMatchObject(
      refusal('insufficient_funds'),
    )
  })

  test('an expired validity', async () => {
    const startSeconds = Math.floor(Date.now() / 1_000) - 200
    const id = TransactionId.withValidStart(
      AccountId.fromString(fixture.feePayer.accountId),
      new Timestamp(startSeconds, 0),
    )
    expect(await fixture.attempt(await fixture.payBySdk({ id }))).toMatchObject(
      refusal('transaction_expired'),
    )
  })

  test.each([
    {
      title: 'a fee payer who would be debited',
      make: () =>
        fixture.payBySdk({
          edit: (transaction) =>
            transaction
              .addHbarTransfer(fixture.feePayer.accountId, Hbar.fromTinybars(-1))
              .addHbarTransfer(fixture.seller.accountId, Hbar.fromTinybars(1)),
        }),
      reason: 'invalid_exact_hedera_payload_fee_payer_transferring_hbar',
    },
    {
      title: 'an amount other than the one requested',
      make: () =>
        fixture.pay(fixture.makeRequirement({ amount: '1' })).then((paid) => ({
          ...paid,
          accepted: fixture.makeRequirement(),
        })),
      reason: 'invalid_exact_hedera_payload_amount_mismatch',
    },
    {
      title: 'a fee payer other than ours',
      make: () =>
        fixture.pay(
          fixture.makeRequirement({
            extra: { feePayer: fixture.seller.accountId, paymentFlow: 'upfront' },
          }),
        ),
      reason: 'fee_payer_not_managed_by_facilitator',
    },
    {
      title: 'a seller who does not exist',
      make: () => fixture.pay(fixture.makeRequirement({ payTo: '0.0.999999' })),
      reason: 'invalid_exact_hedera_payload_preflight_failed',
    },
    {
      title: 'another asset',
      make: () =>
        fixture.pay().then((paid) => ({
          ...paid,
          accepted: fixture.makeRequirement({ asset: '0.0.456858' }),
        })),
      reason: 'invalid_exact_hedera_payload_unexpected_hbar_transfers',
    },
    {
      title: 'another network',
      make: () =>
        fixture.pay().then((paid) => ({
          ...paid,
          accepted: fixture.makeRequirement({ network: 'hedera:mainnet' }),
        })),
      reason: 'network_mismatch',
    },
    {
      title: 'another scheme',
      make: () =>
        fixture.pay().then((paid) => ({ ...paid, accepted: { ...paid.accepted, scheme: 'upto' } })),
      reason: 'unsupported_scheme',
    },
    {
      title: 'bytes that are not a transaction',
      make: () =>
        Promise.resolve(
          wrap(fixture.makeRequirement(), Buffer.from('nonsense').toString('base64')),
        ),
      reason: 'invalid_exact_hedera_payload_transaction_could_not_be_decoded',
    },
  ])('$title', async ({ make, reason }) => {
    expect(await fixture.attempt(await make())).toMatchObject(refusal(reason))
  })

  test('terms that the payer did not accept', async () => {
    const payload = await fixture.pay()
    expect(
      await fixture.client.settle(payload, fixture.makeRequirement({ amount: '1' })),
    ).toMatchObject({
      success: false,
      errorReason: 'accepted_payment_requirements_mismatch',
    })
  })

  test('a payment addressed only to nodes that this process does not know', async () => {
    expect(await fixture.settle(await fixture.payBySdk({ nodes: [4, 5] }))).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_hedera_payload_preflight_failed',
      transaction: '',
    })
  })

  test.each([
    { status: 'TRANSACTION_EXPIRED', reason: 'transaction_expired' },
    { status: 'INVALID_TRANSACTION_START', reason: 'invalid_exact_hedera_payload_not_yet_valid' },
    { status: 'KEY_PREFIX_MISMATCH', reason: 'invalid_exact_hedera_payload_signature_invalid' },
    { status: 'INSUFFICIENT_TX_FEE', reason: 'invalid_exact_hedera_payload_preflight_failed' },
  ])('the node’s own $status', async ({ status, reason }) => {
    fixture.devnet.controls.refuseNext(status)
    expect(await fixture.settle(await fixture.pay())).toMatchObject({
      success: false,
      errorReason: reason,
      transaction: '',
    })
  })
})

describe('what the ledger decides', () => {
  test.each(['INSUFFICIENT_ACCOUNT_BALANCE', 'INVALID_SIGNATURE'])(
    'a failure at consensus (%s) names the transaction and moves nothing',
    async (status) => {
      fixture.devnet.controls.refuseNext(status, 'consensus')
      const change = await fixture.changeBy(async () => {
        expect(await fixture.settle(await fixture.pay())).toMatchObject({
          success: false,
          errorReason: 'transaction_failed',
          errorMessage: status,
          transaction: expect.stringContaining('@'),
        })
      })
      expect(change).toEqual(NOTHING_MOVED)
    },
  )

  test('while consensus is slow the answer is pending, with its transaction; when repeated, the same submission is read', async () => {
    const payload = await fixture.pay()
    fixture.devnet.controls.holdConsensus(true)
    const first = await fixture.impatientClient.settle(payload, payload.accepted)
    expect(first).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      transaction: expect.stringContaining('@'),
    })
    const change = await fixture.changeBy(async () => {
      fixture.devnet.controls.holdConsensus(false)
      await expect
        .poll(() => fixture.impatientClient.settle(payload, payload.accepted))
        .toMatchObject({ success: true, transaction: first.transaction })
    })
    expect(change).toEqual({ payer: -PRICE, seller: PRICE })
  })

  test('hostile_client P2, unknown is never terminal: a transfer that the network lost is pending, never refused', async () => {
    fixture.devnet.controls.dropNextTransfers(1)
    const payload = await fixture.pay()
    expect(await fixture.impatientClient.settle(payload, payload.accepted)).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
    })
  })
})

describe('503: nothing was submitted, and the same payment may be sent again', () => {
  test('a consensus node that is down', async () => {
    const lonely = await fixture.start({ nodes: '127.0.0.1:1=0.0.3' })
    const payload = await fixture.pay()
    const answer = await post(lonely.url, payload)
    expect(answer).toMatchObject({ status: 503, body: { error: 'consensus_unavailable' } })
    expect(answer.headers.get('retry-after')).toBe('3')
    const ready = await fetch(`${lonely.url}/ready`)
    expect(ready.status).toBe(503)
    expect(await ready.json()).toMatchObject({
      checks: { consensus: { kind: 'not-ready', reason: 'consensus_unreachable' } },
    })
    await lonely.stop()
    expect(await fixture.settle(payload)).toMatchObject({ success: true })
  })

  test('a node that is busy', async () => {
    fixture.devnet.controls.refuseNext('BUSY')
    const payload = await fixture.pay()
    expect(await post(fixture.facilitator.url, payload)).toMatchObject({
      status: 503,
      body: { error: 'consensus_unavailable' },
    })
    expect(await fixture.settle(payload)).toMatchObject({ success: true })
  })

  test('X9: a node that breaks off the call may have taken it: pending, not 503; sent again it settles', async () => {
    const payment = await fixture.pay()
    fixture.devnet.controls.setUnavailable({ consensus: true })
    const answer = await post(fixture.impatient.url, payment)
    fixture.devnet.controls.setUnavailable({ consensus: false })
    expect(answer).toMatchObject({ status: 200, body: { errorReason: 'settlement_pending' } })
    const doubts = fixture.lines.filter((line) => line.includes('"msg":"submission in doubt"'))
    const { transaction } = answer.body as { transaction: string }
    const doubt = expect.objectContaining({ level: 'warn', transaction })
    // It is submitted again at once, under its own id, unless the ledger's library still spares the node.
    const reported = doubts.map((line) => JSON.parse(line) as object)
    expect(reported).toEqual(reported.map(() => doubt))
    expect(reported.length).toBeGreaterThan(0)
    const again = () => post(fixture.impatient.url, payment)
    const settled = { status: 200, body: { success: true, transaction } }
    await expect.poll(again).toMatchObject(settled)
  })

  test('a mirror node that does not answer for an unknown account', async () => {
    const stranger = await fixture.devnet.createAccount({
      name: 'unread',
      balanceTinybar: PRICE * 2n,
    })
    fixture.devnet.controls.setUnavailable({ mirror: true })
    const answer = await post(
      fixture.facilitator.url,
      await fixture.pay(fixture.makeRequirement(), stranger),
    )
    fixture.devnet.controls.setUnavailable({ mirror: false })
    expect(answer).toMatchObject({ status: 503, body: { error: 'ledger_unavailable' } })
  })

  test('a fee payer whose balance does not cover the fee; /ready names it', async () => {
    const broke = await fixture.devnet.createAccount({ name: 'broke', balanceTinybar: 1n })
    const other = await fixture.start({ feePayer: broke })
    const extra = { feePayer: broke.accountId, paymentFlow: 'upfront' }
    expect(
      await post(other.url, await fixture.pay(fixture.makeRequirement({ extra }))),
    ).toMatchObject({
      status: 503,
      body: { error: 'fee_payer_balance_too_low' },
    })
    const ready = await fetch(`${other.url}/ready`)
    expect(await ready.json()).toMatchObject({
      error: 'not_ready',
      checks: {
        feePayer: { reason: 'fee_payer_balance_low', details: { balanceTinybar: '1' } },
      },
    })
    await other.stop()
  })

  test('a fee payer’s key that is not the account’s; /ready names it', async () => {
    const { privateKey } = fixture.seller
    const other = await fixture.start({ feePayer: { ...fixture.feePayer, privateKey } })
    expect(await post(other.url, await fixture.pay())).toMatchObject({
      status: 503,
      body: { error: 'fee_payer_unusable' },
    })
    const ready = await fetch(`${other.url}/ready`)
    expect(await ready.json()).toMatchObject({
      checks: { feePayer: { reason: 'fee_payer_key_mismatch' } },
    })
    await other.stop()
  })
})
