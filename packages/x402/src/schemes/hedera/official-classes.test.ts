/**
 * The official client, resource server and facilitator classes, unmodified, with our Hedera scheme on either side: they
 * judge what goes over the wire.
 */
import { x402Client, x402HTTPClient } from '@x402/core/client'
import type { PaymentRequired, PaymentRequirements } from '@x402/core/types'
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch'
import fastify from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { paidRoute } from '../../fastify/paid-route.ts'
import { AGENT, gateFixture } from '../../testing/gate.fixture.ts'
import {
  FEE_PAYER,
  HederaStandIn,
  NETWORK,
  PAY_TO,
  PAYER,
} from '../../testing/hedera-stand-in.fixture.ts'
import {
  findHeader,
  officialResponse,
  officialServer,
  request,
} from '../../testing/official-server.fixture.ts'
import { listen } from '../../testing/scripted-server.fixture.ts'
import { ExactHederaClient } from './exact-hedera-client.ts'
import { ExactHederaServer, hederaRequirement } from './exact-hedera-scheme.ts'
import { HEDERA_USDC } from './hedera-token.ts'
import { agentMemo } from './payment-memo.ts'
import { verifyHederaPayment } from './verify-hedera-payment.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type AllowedAsset = {
  readonly network: typeof NETWORK
  readonly asset: string
  readonly maxAmountPerPayment: string
}

/** The line that every first request to copy carries (X13). */
const spendControls = {
  allowedAssets: [{ network: NETWORK, asset: '0.0.0', maxAmountPerPayment: '1000000000' }],
} as const

function schemeClient(
  ledger: HederaStandIn,
  changes: Partial<ConstructorParameters<typeof ExactHederaClient>[0]> = {},
): ExactHederaClient {
  const signer = ledger.signers.get(PAYER)
  if (signer === undefined) throw new Error('no payer')
  return new ExactHederaClient({ signer, clock: ledger.clock, ...changes })
}

function official(
  ledger: HederaStandIn,
  changes: Partial<ConstructorParameters<typeof ExactHederaClient>[0]> = {},
): x402Client {
  return new x402Client()
    .setSpendControls({ allowedAssets: [...spendControls.allowedAssets] })
    .register('hedera:*', schemeClient(ledger, changes))
}

async function serve() {
  const fixture = gateFixture()
  const app = fastify()
  const { gate, job, terms } = fixture
  app.get(
    '/api/svc/access',
    paidRoute({ gate, terms: () => terms, job: () => job(), decline: neverDeclines }),
  )
  const { url, close } = await listen(app)
  closing.push(close)
  return { ...fixture, url: `${url}/api/svc/access` }
}

describe('X13: our gate and the official @x402/fetch', () => {
  test('pays and gets in, unmodified, with its setSpendControls line', async () => {
    const { ledger, url } = await serve()
    const response = await wrapFetchWithPayment(fetch, official(ledger))(url)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ granted: 'resource', payer: PAYER })
    const settlement = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
    expect(settlement).toMatchObject({ success: true, network: NETWORK })
    expect(ledger.settlements).toBe(1)
    expect(ledger.records).toHaveLength(1)
  })

  test('refuses HBAR without that line, before anything is signed', async () => {
    const { ledger, url } = await serve()
    const cautious = new x402Client().register('hedera:*', schemeClient(ledger))
    await expect(wrapFetchWithPayment(fetch, cautious)(url)).rejects.toThrow(/spend/i)
    expect(ledger.settlements).toBe(0)
  })

  test('X25: pays a token by a line of its own, up to its cap; a line for HBAR allows no dollars', async () => {
    const ledger = new HederaStandIn()
    const token = HEDERA_USDC['hedera:testnet']
    const pay = (price: `$${number}`, ...lines: AllowedAsset[]) => {
      const accepts = [hederaRequirement({ token, price, payTo: PAY_TO, feePayer: FEE_PAYER })]
      const required = { x402Version: 2, resource: { url: 'https://a.example' }, accepts }
      return new x402Client()
        .setSpendControls({ allowedAssets: lines })
        .register('hedera:*', schemeClient(ledger))
        .createPaymentPayload(required as unknown as PaymentRequired)
    }
    const line = { network: NETWORK, asset: token.id, maxAmountPerPayment: '10000' } as const
    expect((await pay('$0.01', line)).accepted).toMatchObject({ amount: '10000' })
    await expect(pay('$0.02', line)).rejects.toThrow(/spend/i)
    await expect(pay('$0.01', ...spendControls.allowedAssets)).rejects.toThrow(/spend/i)
  })

  test('X10: writes the memo that the agent configures', async () => {
    const { ledger, url } = await serve()
    const client = official(ledger, { memo: agentMemo(AGENT) })
    expect((await wrapFetchWithPayment(fetch, client)(url)).status).toBe(200)
    expect(ledger.records[0]?.memo).toBe(`x402:${AGENT}`)
  })

  test('100 payments of one client at once are 100 settlements, each with its own transaction id', async () => {
    const { job, gate, ledger, terms } = await serve()
    const headers = await Promise.all(Array.from({ length: 100 }, () => ledger.pay(terms)))
    const outcomes = await Promise.all(
      headers.map((header, index) =>
        gate.pay({ paymentSignature: header }, terms, job({ fingerprint: `call ${index}` })),
      ),
    )
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array.from({ length: 100 }, () => 'paid'))
    expect(new Set(ledger.records.map(({ transactionId }) => transactionId)).size).toBe(100)
  })
})

describe('X12: the official server and facilitator classes accept our scheme unchanged', () => {
  test('challenge, payment and settlement through x402HTTPResourceServer and x402Facilitator', async () => {
    const ledger = new HederaStandIn()
    const http = await officialServer(ledger)
    const unpaid = await http.processHTTPRequest(request())
    const challenge = officialResponse(unpaid)
    expect(challenge.status).toBe(402)
    const client = new x402HTTPClient(official(ledger))
    const required = client.getPaymentRequiredResponse((name) =>
      findHeader(challenge.headers, name),
    )
    expect(required.accepts[0]).toMatchObject({
      scheme: 'exact',
      network: NETWORK,
      asset: '0.0.0',
      amount: '500000000',
      payTo: PAY_TO,
      extra: { feePayer: FEE_PAYER },
    })
    const payload = await client.createPaymentPayload(required)
    const paid = await http.processHTTPRequest(
      request(client.encodePaymentSignatureHeader(payload)),
    )
    expect(paid.type).not.toBe('payment-error')
    expect(ledger.records).toMatchObject([{ result: 'SUCCESS' }])
  })

  test('X25: a price in dollars means the network’s first known token, by default USDC', async () => {
    const server = new ExactHederaServer()
    expect(await server.parsePrice('$0.01', NETWORK)).toEqual({
      asset: '0.0.429274',
      amount: '10000',
    })
    expect(await server.parsePrice(1, 'hedera:mainnet')).toMatchObject({ asset: '0.0.456858' })
    const token = { network: NETWORK, id: '0.0.5', decimals: 2 }
    const local = new ExactHederaServer({ tokens: [token] })
    expect(await local.parsePrice('$0.01', NETWORK)).toEqual({ asset: '0.0.5', amount: '1' })
    expect(await local.parsePrice({ asset: '0.0.5', amount: '7' }, NETWORK)).toMatchObject({
      amount: '7',
    })
    for (const price of [
      '$0.001',
      '$x',
      { asset: '0.0.6', amount: '1' },
      { asset: '0.0.5', amount: '1.0' },
      // Nothing, and what no mirror node states exactly: verify refuses both.
      '$0',
      '$90071992547409.92',
      { asset: '0.0.0', amount: '0' },
      { asset: '0.0.0', amount: '9007199254740992' },
    ])
      await expect(local.parsePrice(price, NETWORK)).rejects.toThrow(RangeError)
    await expect(server.parsePrice('$1', 'hedera:previewnet')).rejects.toThrow(RangeError)
    expect(server.getAssetDecimals('0.0.0', NETWORK)).toBe(8)
    expect(server.getAssetDecimals('0.0.429274', NETWORK)).toBe(6)
    expect(server.getAssetDecimals('0.0.5', NETWORK)).toBeUndefined()
  })

  test('a facilitator without a fee payer is a configuration error', async () => {
    const requirement = {
      scheme: 'exact',
      network: NETWORK,
      amount: '1',
      asset: '0.0.0',
      payTo: PAY_TO,
      maxTimeoutSeconds: 180,
      extra: {},
    } as const
    const enhancing = new ExactHederaServer().enhancePaymentRequirements(requirement, { extra: {} })
    await expect(enhancing).rejects.toThrow('names no fee payer')
  })
})

describe('the client refuses what it cannot pay', () => {
  const terms: PaymentRequirements = {
    scheme: 'exact',
    network: NETWORK,
    amount: '1',
    asset: '0.0.0',
    payTo: PAY_TO,
    maxTimeoutSeconds: 180,
    extra: { feePayer: FEE_PAYER },
  }
  test.each<[string, Partial<PaymentRequirements>]>([
    ['an asset that is none', { asset: '0x5' }],
    ['another network family', { network: 'eip155:196' }],
    ['no fee payer', { extra: {} }],
    ['a payTo that is not an account', { payTo: '0x1' }],
    ['a zero amount', { amount: '0' }],
    [
      'another transfer method',
      { extra: { feePayer: FEE_PAYER, assetTransferMethod: 'transferExecutor' } },
    ],
  ])('%s', async (_name, changes) => {
    const client = schemeClient(new HederaStandIn())
    await expect(client.createPaymentPayload(2, { ...terms, ...changes })).rejects.toThrow(
      RangeError,
    )
  })

  test('a memo over 100 bytes', async () => {
    const client = schemeClient(new HederaStandIn(), { memo: 'x'.repeat(101) })
    await expect(client.createPaymentPayload(2, terms)).rejects.toThrow('at most 100 bytes')
  })

  test.each([
    [1, 15],
    [60, 68],
    [180, 180],
    [3_600, 180],
  ])(
    'maxTimeoutSeconds %i gives a validity of %i s, which the network accepts',
    async (maxTimeoutSeconds, seconds) => {
      const ledger = new HederaStandIn()
      const { payload } = await schemeClient(ledger).createPaymentPayload(2, {
        ...terms,
        maxTimeoutSeconds,
      })
      const wanted = { ...terms, scheme: 'exact', extra: terms.extra } as const
      const context = { accounts: ledger.directory, nowSeconds: ledger.nowSeconds() }
      const verified = await verifyHederaPayment(payload, wanted, context)
      if (verified.kind !== 'valid') throw new Error('not valid')
      const { validFromSeconds, validUntilSeconds } = verified.payment
      expect(validUntilSeconds - validFromSeconds).toBe(seconds)
    },
  )
})

function neverDeclines(): never {
  throw new Error('nothing is declined here')
}
