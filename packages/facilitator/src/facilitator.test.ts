/**
 * The facilitator over real HTTP on a local ledger over real gRPC: payments signed by the official SDK and by our own
 * client, settled through the official HTTPFacilitatorClient.
 */
import {
  AccountId,
  Hbar,
  PrivateKey,
  Timestamp,
  TransactionId,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import { createLogger } from '@tallystick/service-kit'
import type { PaymentRequirement } from '@tallystick/x402'
import { ExactHederaClient, hederaRequirement, hederaSigner } from '@tallystick/x402/hedera'
import { HTTPFacilitatorClient } from '@x402/core/http'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseConsensusNodes } from './hedera/consensus-nodes.ts'
import { type RunningFacilitator, startFacilitator } from './start-facilitator.ts'

const NETWORK = 'hedera:testnet'
const PRICE = 300_000_000n

let devnet: Devnet
let feePayer: DevnetAccount
let payer: DevnetAccount
let seller: DevnetAccount
let facilitator: RunningFacilitator
let client: HTTPFacilitatorClient
/** A facilitator that gives the network little time, for what never comes. */
let impatient: RunningFacilitator
let impatientClient: HTTPFacilitatorClient
const lines: string[] = []

type Changes = { feePayer?: DevnetAccount; nodes?: string; outcomeMs?: number }

const start = (changes: Changes = {}) => {
  const { accountId, privateKey } = changes.feePayer ?? feePayer
  const nodes = changes.nodes ?? `${devnet.consensus.address}=${devnet.consensus.nodeAccountId}`
  return startFacilitator({
    network: NETWORK,
    consensusNodes: parseConsensusNodes(nodes) ?? [],
    mirrorUrl: devnet.mirrorUrl,
    feePayer: accountId,
    feePayerKey: privateKey,
    limits: { callMs: 3_000, outcomeMs: changes.outcomeMs ?? 15_000 },
    logger: createLogger({
      name: 'facilitator',
      level: 'debug',
      destination: { write: (line: string) => void lines.push(line) },
    }),
  })
}

beforeAll(async () => {
  devnet = await startDevnet()
  const account = (name: string, hbar: bigint) =>
    devnet.createAccount({ name, balanceTinybar: hbar * 100_000_000n })
  feePayer = await account('facilitator-test-fee-payer', 1_000n)
  payer = await account('facilitator-test-payer', 10_000n)
  seller = await account('facilitator-test-seller', 10n)
  facilitator = await start()
  client = new HTTPFacilitatorClient({ url: facilitator.url })
  impatient = await start({ outcomeMs: 600 })
  impatientClient = new HTTPFacilitatorClient({ url: impatient.url })
}, 60_000)

afterAll(async () => {
  await facilitator.stop()
  await impatient.stop()
  await devnet.stop()
})

const requirementOf = (changes: Partial<PaymentRequirement> = {}): PaymentRequirements =>
  ({
    ...hederaRequirement({
      network: NETWORK,
      amountTinybar: PRICE,
      payTo: seller.accountId,
      feePayer: feePayer.accountId,
    }),
    ...changes,
  }) as PaymentRequirements

const wrap = (requirements: PaymentRequirements, transaction: string): PaymentPayload => ({
  x402Version: 2,
  accepted: requirements,
  payload: { transaction },
})

/** A payment by our own client. */
async function pay(
  requirements = requirementOf(),
  signer: Pick<DevnetAccount, 'accountId' | 'privateKey'> = payer,
): Promise<PaymentPayload> {
  const { payload } = await new ExactHederaClient({
    signer: hederaSigner(signer),
  }).createPaymentPayload(2, requirements)
  return wrap(requirements, String(payload['transaction']))
}

/** A payment by the official SDK; `edit` changes the transaction before it is frozen. */
async function payBySdk(
  options: {
    readonly id?: TransactionId
    readonly nodes?: readonly number[]
    readonly edit?: (transaction: TransferTransaction) => unknown
    readonly sign?: (transaction: TransferTransaction) => Promise<unknown>
  } = {},
): Promise<PaymentPayload> {
  const transaction = new TransferTransaction()
    .addHbarTransfer(payer.accountId, Hbar.fromTinybars(`-${PRICE}`))
    .addHbarTransfer(seller.accountId, Hbar.fromTinybars(PRICE.toString()))
    .setTransactionId(options.id ?? TransactionId.generate(feePayer.accountId))
    .setNodeAccountIds((options.nodes ?? [3]).map((node) => new AccountId(node)))
    .setMaxTransactionFee(new Hbar(1))
  options.edit?.(transaction)
  transaction.freeze()
  await options.sign?.(transaction)
  await transaction.sign(PrivateKey.fromStringECDSA(payer.privateKey))
  return wrap(requirementOf(), Buffer.from(transaction.toBytes()).toString('base64'))
}

async function balance(accountId: string): Promise<bigint> {
  const response = await fetch(`${devnet.mirrorUrl}/api/v1/accounts/${accountId}`)
  const body = (await response.json()) as { balance: { balance: number } }
  return BigInt(body.balance.balance)
}

/** Runs `act` and returns how the balances of payer and seller changed. */
async function changeBy(act: () => Promise<unknown>) {
  const before = [await balance(payer.accountId), await balance(seller.accountId)] as const
  await act()
  return {
    payer: (await balance(payer.accountId)) - before[0],
    seller: (await balance(seller.accountId)) - before[1],
  }
}

const settle = (payload: PaymentPayload) => client.settle(payload, payload.accepted)
const nothing = { payer: 0n, seller: 0n }

const attempt = async (payload: PaymentPayload) => {
  let settled: unknown
  const change = await changeBy(async () => {
    settled = await settle(payload)
  })
  return { change, settled, verified: await client.verify(payload, payload.accepted) }
}
const refusal = (reason: string) => ({
  change: nothing,
  settled: { success: false, errorReason: reason, transaction: '' },
  verified: { isValid: false, invalidReason: reason },
})

const post = async (url: string, payload: PaymentPayload) => {
  const response = await fetch(`${url}/settle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      x402Version: 2,
      paymentPayload: payload,
      paymentRequirements: payload.accepted,
    }),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

describe('settling', () => {
  test.each([
    { title: 'a payment signed by the official SDK', make: () => payBySdk() },
    { title: 'a payment signed by our own client', make: () => pay() },
    {
      title: 'a payment addressed to seven nodes, of which we know one',
      make: () => payBySdk({ nodes: [4, 5, 3, 6, 7, 8, 9] }),
    },
  ])('$title moves the amount exactly once; the payer pays no fee', async ({ make }) => {
    const payload = await make()
    expect(await client.verify(payload, payload.accepted)).toMatchObject({
      isValid: true,
      payer: payer.accountId,
    })
    const change = await changeBy(async () => {
      expect(await settle(payload)).toMatchObject({
        success: true,
        payer: payer.accountId,
        network: NETWORK,
        amount: PRICE.toString(),
        transaction: expect.stringMatching(
          new RegExp(`^${feePayer.accountId.replaceAll('.', '\\.')}@\\d+\\.\\d{9}$`),
        ),
      })
    })
    expect(change).toEqual({ payer: -PRICE, seller: PRICE })
  })

  test('X7: identical requests at once make one submission and get the same answer', async () => {
    const payload = await pay()
    const change = await changeBy(async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => settle(payload)))
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
      expect(answers[0]?.success).toBe(true)
    })
    expect(change).toEqual({ payer: -PRICE, seller: PRICE })
  })

  test('a payment that was settled is a duplicate, named with its transaction, and moves nothing', async () => {
    const payload = await pay()
    const first = await settle(payload)
    const change = await changeBy(async () => {
      expect(await settle(payload)).toMatchObject({
        success: false,
        errorReason: 'DUPLICATE_TRANSACTION',
        transaction: first.transaction,
      })
    })
    expect(change).toEqual(nothing)
  })

  test('another payment under the transaction id of one that is under way is a duplicate', async () => {
    const id = TransactionId.generate(feePayer.accountId)
    const [one, other] = await Promise.all([
      payBySdk({ id }),
      payBySdk({ id, edit: (transaction) => transaction.setTransactionMemo('other') }),
    ])
    const answers = await Promise.all([settle(one), settle(other)])
    expect(answers.filter(({ success }) => success)).toHaveLength(1)
    expect(answers.find(({ success }) => !success)?.errorReason).toBe('DUPLICATE_TRANSACTION')
  })

  test('many payments at once are all settled', async () => {
    const payloads = await Promise.all(Array.from({ length: 50 }, () => pay()))
    const change = await changeBy(async () => {
      const answers = await Promise.all(payloads.map(settle))
      expect(answers.filter(({ success }) => success)).toHaveLength(50)
    })
    expect(change).toEqual({ payer: -PRICE * 50n, seller: PRICE * 50n })
  }, 60_000)
})

describe('X8: refusals that precede submission name no transaction', () => {
  test('a signature by another key', async () => {
    const stranger = { accountId: payer.accountId, privateKey: seller.privateKey }
    expect(await attempt(await pay(requirementOf(), stranger))).toMatchObject(
      refusal('invalid_exact_hedera_payload_signature_invalid'),
    )
  })

  test('a false signature under the fee payer’s key', async () => {
    const falsely = PrivateKey.generateECDSA()
    const key = PrivateKey.fromStringECDSA(feePayer.privateKey).publicKey
    const payload = await payBySdk({
      sign: (transaction) => transaction.signWith(key, async (bytes) => falsely.sign(bytes)),
    })
    expect(await settle(payload)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_hedera_payload_signature_invalid',
      transaction: '',
    })
  })

  test('a payer who has less than the amount', async () => {
    const poor = await devnet.createAccount({ name: 'poor', balanceTinybar: PRICE - 1n })
    expect(await attempt(await pay(requirementOf(), poor))).toMatchObject(
      refusal('insufficient_funds'),
    )
  })

  test('a validity that has ended', async () => {
    const startSeconds = Math.floor(Date.now() / 1_000) - 200
    const id = TransactionId.withValidStart(
      AccountId.fromString(feePayer.accountId),
      new Timestamp(startSeconds, 0),
    )
    expect(await attempt(await payBySdk({ id }))).toMatchObject(refusal('transaction_expired'))
  })

  test.each([
    {
      title: 'a fee payer who is to be debited',
      make: () =>
        payBySdk({
          edit: (transaction) =>
            transaction
              .addHbarTransfer(feePayer.accountId, Hbar.fromTinybars(-1))
              .addHbarTransfer(seller.accountId, Hbar.fromTinybars(1)),
        }),
      reason: 'invalid_exact_hedera_payload_fee_payer_transferring_hbar',
    },
    {
      title: 'another amount than the one that is asked',
      make: () =>
        pay(requirementOf({ amount: '1' })).then((paid) => ({
          ...paid,
          accepted: requirementOf(),
        })),
      reason: 'invalid_exact_hedera_payload_amount_mismatch',
    },
    {
      title: 'a fee payer that is not ours',
      make: () =>
        pay(requirementOf({ extra: { feePayer: seller.accountId, paymentFlow: 'upfront' } })),
      reason: 'fee_payer_not_managed_by_facilitator',
    },
    {
      title: 'a seller who does not exist',
      make: () => pay(requirementOf({ payTo: '0.0.999999' })),
      reason: 'invalid_exact_hedera_payload_preflight_failed',
    },
    {
      title: 'another asset',
      make: () =>
        pay().then((paid) => ({ ...paid, accepted: requirementOf({ asset: '0.0.456858' }) })),
      reason: 'invalid_asset',
    },
    {
      title: 'another network',
      make: () =>
        pay().then((paid) => ({ ...paid, accepted: requirementOf({ network: 'hedera:mainnet' }) })),
      reason: 'network_mismatch',
    },
    {
      title: 'another scheme',
      make: () =>
        pay().then((paid) => ({ ...paid, accepted: { ...paid.accepted, scheme: 'upto' } })),
      reason: 'unsupported_scheme',
    },
    {
      title: 'bytes that are no transaction',
      make: () =>
        Promise.resolve(wrap(requirementOf(), Buffer.from('nonsense').toString('base64'))),
      reason: 'invalid_exact_hedera_payload_transaction_could_not_be_decoded',
    },
  ])('$title', async ({ make, reason }) => {
    expect(await attempt(await make())).toMatchObject(refusal(reason))
  })

  test('terms that the payer did not accept', async () => {
    const payload = await pay()
    expect(await client.settle(payload, requirementOf({ amount: '1' }))).toMatchObject({
      success: false,
      errorReason: 'accepted_payment_requirements_mismatch',
    })
  })

  test('a payment addressed to nodes that nobody here knows', async () => {
    expect(await settle(await payBySdk({ nodes: [4, 5] }))).toMatchObject({
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
    devnet.controls.refuseNext(status)
    expect(await settle(await pay())).toMatchObject({
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
      devnet.controls.refuseNext(status, 'consensus')
      const change = await changeBy(async () => {
        expect(await settle(await pay())).toMatchObject({
          success: false,
          errorReason: 'transaction_failed',
          errorMessage: status,
          transaction: expect.stringContaining('@'),
        })
      })
      expect(change).toEqual(nothing)
    },
  )

  test('while consensus is slow the answer is pending, with its transaction; asked again, the same submission is read', async () => {
    const payload = await pay()
    devnet.controls.holdConsensus(true)
    const first = await impatientClient.settle(payload, payload.accepted)
    expect(first).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      transaction: expect.stringContaining('@'),
    })
    const change = await changeBy(async () => {
      devnet.controls.holdConsensus(false)
      await expect
        .poll(() => impatientClient.settle(payload, payload.accepted), { timeout: 10_000 })
        .toMatchObject({ success: true, transaction: first.transaction })
    })
    expect(change).toEqual({ payer: -PRICE, seller: PRICE })
  }, 60_000)

  test('a transfer that the network lost is pending, never refused', async () => {
    devnet.controls.dropNextTransfers(1)
    const payload = await pay()
    expect(await impatientClient.settle(payload, payload.accepted)).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
    })
  })
})

describe('503: nothing was submitted, the same payment may come again', () => {
  test('a consensus node that is down', async () => {
    const lonely = await start({ nodes: '127.0.0.1:1=0.0.3' })
    const payload = await pay()
    const answer = await post(lonely.url, payload)
    expect(answer).toMatchObject({ status: 503, body: { error: 'consensus_unavailable' } })
    expect(answer.headers.get('retry-after')).toBe('3')
    const ready = await fetch(`${lonely.url}/ready`)
    expect(ready.status).toBe(503)
    expect(await ready.json()).toMatchObject({
      checks: { consensus: { kind: 'not-ready', reason: 'consensus_unreachable' } },
    })
    await lonely.stop()
    expect(await settle(payload)).toMatchObject({ success: true })
  })

  test('a node that is busy', async () => {
    devnet.controls.refuseNext('BUSY')
    const payload = await pay()
    expect(await post(facilitator.url, payload)).toMatchObject({
      status: 503,
      body: { error: 'consensus_unavailable' },
    })
    expect(await settle(payload)).toMatchObject({ success: true })
  })

  test('a node that cuts the call off may have taken it: pending, not 503', async () => {
    devnet.controls.setUnavailable({ consensus: true })
    const answer = await post(impatient.url, await pay())
    devnet.controls.setUnavailable({ consensus: false })
    expect(answer).toMatchObject({ status: 200, body: { errorReason: 'settlement_pending' } })
  }, 60_000)

  test('a mirror node that does not answer for an account that is not known yet', async () => {
    const stranger = await devnet.createAccount({ name: 'unread', balanceTinybar: PRICE * 2n })
    devnet.controls.setUnavailable({ mirror: true })
    const answer = await post(facilitator.url, await pay(requirementOf(), stranger))
    devnet.controls.setUnavailable({ mirror: false })
    expect(answer).toMatchObject({ status: 503, body: { error: 'ledger_unavailable' } })
  })

  test('a fee payer whose balance does not cover the fee; /ready names it', async () => {
    const broke = await devnet.createAccount({ name: 'broke', balanceTinybar: 1n })
    const other = await start({ feePayer: broke })
    const extra = { feePayer: broke.accountId, paymentFlow: 'upfront' }
    expect(await post(other.url, await pay(requirementOf({ extra })))).toMatchObject({
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
    const { privateKey } = seller
    const other = await start({ feePayer: { ...feePayer, privateKey } })
    expect(await post(other.url, await pay())).toMatchObject({
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

describe('the server', () => {
  test('/supported names scheme, network and fee payer', async () => {
    expect(await client.getSupported()).toEqual({
      kinds: [
        {
          x402Version: 2,
          scheme: 'exact',
          network: NETWORK,
          extra: { feePayer: feePayer.accountId },
        },
      ],
      extensions: [],
      signers: { 'hedera:*': [feePayer.accountId] },
    })
  })

  test('/ready is 200 with a funded fee payer and a reachable node', async () => {
    const response = await fetch(`${facilitator.url}/ready`)
    expect(response.status).toBe(200)
  })

  test.each(['/verify', '/settle'])(
    '%s: a malformed request is 400 invalid_payload',
    async (path) => {
      const response = await fetch(`${facilitator.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ x402Version: 2 }),
      })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({
        error: 'invalid_payload',
        issues: [{ field: 'body.paymentPayload' }, { field: 'body.paymentRequirements' }],
      })
    },
  )

  test('another version of x402 is refused by name', async () => {
    const payload = await pay()
    const answer = await client.settle({ ...payload, x402Version: 1 }, payload.accepted)
    expect(answer).toMatchObject({ success: false, errorReason: 'invalid_x402_version' })
  })

  test('/metrics counts settlements by how they ended', async () => {
    const text = await (await fetch(`${facilitator.url}/metrics`)).text()
    expect(text).toMatch(/facilitator_settlements_total\{outcome="settled",reason=""\} \d+/)
    expect(text).toContain('facilitator_settlements_in_flight 0')
  })

  test('the page shows the fee payer and what was settled', async () => {
    const text = await (await fetch(facilitator.url)).text()
    expect(text).toContain(`<dd>${feePayer.accountId}</dd>`)
  })

  test('/docs, /openapi.json and /llms.txt describe both routes', async () => {
    const [openapi, llms] = await Promise.all(
      ['/openapi.json', '/llms.txt'].map(async (path) =>
        (await fetch(facilitator.url + path)).text(),
      ),
    )
    expect(Object.keys(JSON.parse(openapi ?? '{}').paths)).toEqual(
      expect.arrayContaining(['/verify', '/settle', '/supported']),
    )
    expect(llms).toContain('- `POST /settle`: Submits a payment once')
  })

  test('no log line holds a signed transaction or a key', async () => {
    const payload = await pay()
    await settle(payload)
    const log = lines.join('')
    expect(log).toContain('"msg":"settlement ended"')
    expect(log).not.toContain(String(payload.payload['transaction']).slice(0, 40))
    expect(log).not.toContain(feePayer.privateKey.slice(2))
  })
})
