/** The facilitator over real HTTP on a local ledger: what it settles, and what its server serves. */
import { TransactionId } from '@hiero-ledger/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type HederaFixture,
  NETWORK,
  NOTHING_MOVED,
  PRICE,
  startHederaFixture,
} from './testing/hedera.fixture.ts'

let fixture: HederaFixture

beforeAll(async () => {
  fixture = await startHederaFixture()
})

afterAll(async () => {
  await fixture.stop()
})

describe('settling', () => {
  test.each([
    { title: 'a payment signed by the official SDK', make: () => fixture.payBySdk() },
    { title: 'a payment signed by our own client', make: () => fixture.pay() },
    {
      title: 'a payment addressed to seven nodes, one of which we know',
      make: () => fixture.payBySdk({ nodes: [4, 5, 3, 6, 7, 8, 9] }),
    },
  ])('$title moves the amount exactly once; the payer pays no fee', async ({ make }) => {
    const payload = await make()
    expect(await fixture.client.verify(payload, payload.accepted)).toMatchObject({
      isValid: true,
      payer: fixture.payer.accountId,
    })
    const change = await fixture.changeBy(async () => {
      expect(await fixture.settle(payload)).toMatchObject({
        success: true,
        payer: fixture.payer.accountId,
        network: NETWORK,
        amount: PRICE.toString(),
        transaction: expect.stringMatching(
          new RegExp(`^${fixture.feePayer.accountId.replaceAll('.', '\\.')}@\\d+\\.\\d{9}$`),
        ),
      })
    })
    expect(change).toEqual({ payer: -PRICE, seller: PRICE })
  })

  test('X7: identical requests at once make one submission and get the same answer', async () => {
    const payload = await fixture.pay()
    const change = await fixture.changeBy(async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => fixture.settle(payload)))
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
      expect(answers[0]?.success).toBe(true)
    })
    expect(change).toEqual({ payer: -PRICE, seller: PRICE })
  })

  test('a payment already settled is a duplicate, named with its transaction, and moves nothing', async () => {
    const payload = await fixture.pay()
    const first = await fixture.settle(payload)
    const change = await fixture.changeBy(async () => {
      expect(await fixture.settle(payload)).toMatchObject({
        success: false,
        errorReason: 'DUPLICATE_TRANSACTION',
        transaction: first.transaction,
      })
    })
    expect(change).toEqual(NOTHING_MOVED)
  })

  test('a different payment under a transaction id in flight is a duplicate', async () => {
    const id = TransactionId.generate(fixture.feePayer.accountId)
    const [first, other] = await Promise.all([
      fixture.payBySdk({ id }),
      fixture.payBySdk({ id, edit: (transaction) => transaction.setTransactionMemo('other') }),
    ])
    const answers = await Promise.all([fixture.settle(first), fixture.settle(other)])
    expect(answers.filter(({ success }) => success)).toHaveLength(1)
    expect(answers.find(({ success }) => !success)?.errorReason).toBe('DUPLICATE_TRANSACTION')
  })

  test('many concurrent payments are all settled', async () => {
    const payloads = await Promise.all(Array.from({ length: 50 }, () => fixture.pay()))
    const change = await fixture.changeBy(async () => {
      const answers = await Promise.all(payloads.map(fixture.settle))
      expect(answers.filter(({ success }) => success)).toHaveLength(50)
    })
    expect(change).toEqual({ payer: -PRICE * 50n, seller: PRICE * 50n })
  })
})

describe('the server', () => {
  test('/supported names scheme, network and fee payer', async () => {
    expect(await fixture.client.getSupported()).toEqual({
      kinds: [
        {
          x402Version: 2,
          scheme: 'exact',
          network: NETWORK,
          extra: { feePayer: fixture.feePayer.accountId },
        },
      ],
      extensions: [],
      signers: { 'hedera:*': [fixture.feePayer.accountId] },
    })
  })

  test('/ready is 200 with a funded fee payer and a reachable node', async () => {
    const response = await fetch(`${fixture.facilitator.url}/ready`)
    expect(response.status).toBe(200)
  })

  test.each(['/verify', '/settle'])(
    '%s: a malformed request is 400 invalid_payload',
    async (path) => {
      const response = await fetch(`${fixture.facilitator.url}${path}`, {
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
    const payload = await fixture.pay()
    const answer = await fixture.client.settle({ ...payload, x402Version: 1 }, payload.accepted)
    expect(answer).toMatchObject({ success: false, errorReason: 'invalid_x402_version' })
  })

  test('/metrics counts settlements by outcome', async () => {
    const text = await (await fetch(`${fixture.facilitator.url}/metrics`)).text()
    expect(text).toMatch(/facilitator_settlements_total\{outcome="settled",reason=""\} \d+/)
    expect(text).toContain('facilitator_settlements_in_flight 0')
  })

  test('the page shows the fee payer and a first request to copy', async () => {
    const text = await (await fetch(fixture.facilitator.url)).text()
    expect(text).toContain(`<dd>${fixture.feePayer.accountId}</dd>`)
    expect(text).toContain(`curl -s ${fixture.facilitator.url}/supported`)
  })

  test('/docs, /openapi.json and /llms.txt describe both routes', async () => {
    const [openapi, llms] = await Promise.all(
      ['/openapi.json', '/llms.txt'].map(async (path) =>
        (await fetch(fixture.facilitator.url + path)).text(),
      ),
    )
    expect(Object.keys(JSON.parse(openapi ?? '{}').paths)).toEqual(
      expect.arrayContaining(['/verify', '/settle', '/supported']),
    )
    expect(llms).toContain('- `POST /settle`: Submits a payment once')
  })

  test('no log line holds a signed transaction or a key', async () => {
    const payload = await fixture.pay()
    await fixture.settle(payload)
    const log = fixture.lines.join('')
    expect(log).toContain('"msg":"settlement ended"')
    expect(log).not.toContain(String(payload.payload['transaction']).slice(0, 40))
    expect(log).not.toContain(fixture.feePayer.privateKey.slice(2))
  })
})
