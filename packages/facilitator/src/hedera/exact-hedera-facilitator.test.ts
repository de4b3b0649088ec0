/** What the facilitator refuses, what the ledger decides, and what was never submitted: on a local ledger, over HTTP. */
import { AccountId, Hbar, PrivateKey, Timestamp, TransactionId } from '@hiero-ledger/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type HederaWorld,
  NOTHING_MOVED,
  openHederaWorld,
  PRICE,
  post,
  wrap,
} from '../testing/hedera-world.ts'

let world: HederaWorld

beforeAll(async () => {
  world = await openHederaWorld()
}, 60_000)

afterAll(async () => {
  await world.stop()
})

const refusal = (reason: string) => ({
  change: NOTHING_MOVED,
  settled: { success: false, errorReason: reason, transaction: '' },
  verified: { isValid: false, invalidReason: reason },
})

describe('X8: refusals that precede submission name no transaction', () => {
  test('a signature by another key', async () => {
    const stranger = { accountId: world.payer.accountId, privateKey: world.seller.privateKey }
    expect(await world.attempt(await world.pay(world.requirementOf(), stranger))).toMatchObject(
      refusal('invalid_exact_hedera_payload_signature_invalid'),
    )
  })

  test('a false signature under the fee payer’s key', async () => {
    const falsely = PrivateKey.generateECDSA()
    const key = PrivateKey.fromStringECDSA(world.feePayer.privateKey).publicKey
    const payload = await world.payBySdk({
      sign: (transaction) => transaction.signWith(key, async (bytes) => falsely.sign(bytes)),
    })
    expect(await world.settle(payload)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_hedera_payload_signature_invalid',
      transaction: '',
    })
  })

  test('a payer who has less than the amount', async () => {
    const poor = await world.devnet.createAccount({ name: 'poor', balanceTinybar: PRICE - 1n })
    expect(await world.attempt(await world.pay(world.requirementOf(), poor))).toMatchObject(
      refusal('insufficient_funds'),
    )
  })

  test('a validity that has ended', async () => {
    const startSeconds = Math.floor(Date.now() / 1_000) - 200
    const id = TransactionId.withValidStart(
      AccountId.fromString(world.feePayer.accountId),
      new Timestamp(startSeconds, 0),
    )
    expect(await world.attempt(await world.payBySdk({ id }))).toMatchObject(
      refusal('transaction_expired'),
    )
  })

  test.each([
    {
      title: 'a fee payer who is to be debited',
      make: () =>
        world.payBySdk({
          edit: (transaction) =>
            transaction
              .addHbarTransfer(world.feePayer.accountId, Hbar.fromTinybars(-1))
              .addHbarTransfer(world.seller.accountId, Hbar.fromTinybars(1)),
        }),
      reason: 'invalid_exact_hedera_payload_fee_payer_transferring_hbar',
    },
    {
      title: 'another amount than the one that is asked',
      make: () =>
        world.pay(world.requirementOf({ amount: '1' })).then((paid) => ({
          ...paid,
          accepted: world.requirementOf(),
        })),
      reason: 'invalid_exact_hedera_payload_amount_mismatch',
    },
    {
      title: 'a fee payer that is not ours',
      make: () =>
        world.pay(
          world.requirementOf({
            extra: { feePayer: world.seller.accountId, paymentFlow: 'upfront' },
          }),
        ),
      reason: 'fee_payer_not_managed_by_facilitator',
    },
    {
      title: 'a seller who does not exist',
      make: () => world.pay(world.requirementOf({ payTo: '0.0.999999' })),
      reason: 'invalid_exact_hedera_payload_preflight_failed',
    },
    {
      title: 'another asset',
      make: () =>
        world
          .pay()
          .then((paid) => ({ ...paid, accepted: world.requirementOf({ asset: '0.0.456858' }) })),
      reason: 'invalid_asset',
    },
    {
      title: 'another network',
      make: () =>
        world.pay().then((paid) => ({
          ...paid,
          accepted: world.requirementOf({ network: 'hedera:mainnet' }),
        })),
      reason: 'network_mismatch',
    },
    {
      title: 'another scheme',
      make: () =>
        world.pay().then((paid) => ({ ...paid, accepted: { ...paid.accepted, scheme: 'upto' } })),
      reason: 'unsupported_scheme',
    },
    {
      title: 'bytes that are no transaction',
      make: () =>
        Promise.resolve(wrap(world.requirementOf(), Buffer.from('nonsense').toString('base64'))),
      reason: 'invalid_exact_hedera_payload_transaction_could_not_be_decoded',
    },
  ])('$title', async ({ make, reason }) => {
    expect(await world.attempt(await make())).toMatchObject(refusal(reason))
  })

  test('terms that the payer did not accept', async () => {
    const payload = await world.pay()
    expect(await world.client.settle(payload, world.requirementOf({ amount: '1' }))).toMatchObject({
      success: false,
      errorReason: 'accepted_payment_requirements_mismatch',
    })
  })

  test('a payment addressed to nodes that nobody here knows', async () => {
    expect(await world.settle(await world.payBySdk({ nodes: [4, 5] }))).toMatchObject({
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
    world.devnet.controls.refuseNext(status)
    expect(await world.settle(await world.pay())).toMatchObject({
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
      world.devnet.controls.refuseNext(status, 'consensus')
      const change = await world.changeBy(async () => {
        expect(await world.settle(await world.pay())).toMatchObject({
          success: false,
          errorReason: 'transaction_failed',
          errorMessage: status,
          transaction: expect.stringContaining('@'),
        })
      })
      expect(change).toEqual(NOTHING_MOVED)
    },
  )

  test('while consensus is slow the answer is pending, with its transaction; asked again, the same submission is read', async () => {
    const payload = await world.pay()
    world.devnet.controls.holdConsensus(true)
    const first = await world.impatientClient.settle(payload, payload.accepted)
    expect(first).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      transaction: expect.stringContaining('@'),
    })
    const change = await world.changeBy(async () => {
      world.devnet.controls.holdConsensus(false)
      await expect
        .poll(() => world.impatientClient.settle(payload, payload.accepted), { timeout: 10_000 })
        .toMatchObject({ success: true, transaction: first.transaction })
    })
    expect(change).toEqual({ payer: -PRICE, seller: PRICE })
  }, 60_000)

  test('a transfer that the network lost is pending, never refused', async () => {
    world.devnet.controls.dropNextTransfers(1)
    const payload = await world.pay()
    expect(await world.impatientClient.settle(payload, payload.accepted)).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
    })
  })
})

describe('503: nothing was submitted, the same payment may come again', () => {
  test('a consensus node that is down', async () => {
    const lonely = await world.start({ nodes: '127.0.0.1:1=0.0.3' })
    const payload = await world.pay()
    const answer = await post(lonely.url, payload)
    expect(answer).toMatchObject({ status: 503, body: { error: 'consensus_unavailable' } })
    expect(answer.headers.get('retry-after')).toBe('3')
    const ready = await fetch(`${lonely.url}/ready`)
    expect(ready.status).toBe(503)
    expect(await ready.json()).toMatchObject({
      checks: { consensus: { kind: 'not-ready', reason: 'consensus_unreachable' } },
    })
    await lonely.stop()
    expect(await world.settle(payload)).toMatchObject({ success: true })
  })

  test('a node that is busy', async () => {
    world.devnet.controls.refuseNext('BUSY')
    const payload = await world.pay()
    expect(await post(world.facilitator.url, payload)).toMatchObject({
      status: 503,
      body: { error: 'consensus_unavailable' },
    })
    expect(await world.settle(payload)).toMatchObject({ success: true })
  })

  test('a node that cuts the call off may have taken it: pending, not 503', async () => {
    world.devnet.controls.setUnavailable({ consensus: true })
    const answer = await post(world.impatient.url, await world.pay())
    world.devnet.controls.setUnavailable({ consensus: false })
    expect(answer).toMatchObject({ status: 200, body: { errorReason: 'settlement_pending' } })
    const doubts = world.lines.filter((line) => line.includes('"msg":"submission in doubt"'))
    expect(doubts.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        level: 'warn',
        transaction: (answer.body as { transaction: string }).transaction,
      }),
    ])
  }, 60_000)

  test('a mirror node that does not answer for an account that is not known yet', async () => {
    const stranger = await world.devnet.createAccount({
      name: 'unread',
      balanceTinybar: PRICE * 2n,
    })
    world.devnet.controls.setUnavailable({ mirror: true })
    const answer = await post(
      world.facilitator.url,
      await world.pay(world.requirementOf(), stranger),
    )
    world.devnet.controls.setUnavailable({ mirror: false })
    expect(answer).toMatchObject({ status: 503, body: { error: 'ledger_unavailable' } })
  })

  test('a fee payer whose balance does not cover the fee; /ready names it', async () => {
    const broke = await world.devnet.createAccount({ name: 'broke', balanceTinybar: 1n })
    const other = await world.start({ feePayer: broke })
    const extra = { feePayer: broke.accountId, paymentFlow: 'upfront' }
    expect(await post(other.url, await world.pay(world.requirementOf({ extra })))).toMatchObject({
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
    const { privateKey } = world.seller
    const other = await world.start({ feePayer: { ...world.feePayer, privateKey } })
    expect(await post(other.url, await world.pay())).toMatchObject({
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
