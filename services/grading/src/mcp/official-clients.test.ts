/**
 * G10, X20 on a local X Layer: the official MCP clients of both revisions, unmodified, with payments made by the official
 * x402 client and judged by its extensions.
 */
import { hash } from 'node:crypto'
import * as sdk2 from '@modelcontextprotocol/client'
import { freePort, listeningUrl, systemClock } from '@tallystick/service-kit'
import { testOfficialClients } from '@tallystick/service-kit/official-clients'
import { createReceiptVerifier } from '@tallystick/x402'
import { ExactEvmClient, evmSigner } from '@tallystick/x402/evm'
import {
  extractOffersFromPaymentRequired,
  type JWSSignedOffer,
  type JWSSignedReceipt,
  verifyOfferSignatureJWS,
  verifyReceiptSignatureJWS,
} from '@x402/extensions/offer-receipt'
import { appendPaymentIdentifierToExtensions } from '@x402/extensions/payment-identifier'
import { type PaymentRequired, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpFixture } from '../testing/http.fixture.ts'
import {
  grade,
  posted,
  type RunningService,
  startXLayerFixture,
  type XLayerFixture,
  xlayerCalls,
} from '../testing/xlayer.fixture.ts'
import { auditExample, gradeExample } from '../wire/examples.ts'

testOfficialClients({
  title: 'G10: grading and the official clients',
  revisions: ['2025-11-25', '2026-07-28'],
  async start() {
    const { app } = await createHttpFixture()
    await app.listen({ host: '127.0.0.1', port: 0 })
    return { url: new URL(`${listeningUrl(app)}/mcp`), headers: {}, close: () => app.close() }
  },
  serverName: 'tallystick-grading',
  instructions: 'Ask coverage first',
  calls: {
    coverage: { sport: 'soccer', text: 'arsenal chelsea' },
    calibration: {},
    read_pick: { receipt: 'none' },
    grade_pick: gradeExample,
    audit_picks: auditExample,
  },
})

let fixture: XLayerFixture
let service: RunningService
const { balanceOf, startFilled } = xlayerCalls(() => fixture)
const closing: (() => Promise<void>)[] = []

/** A service whose public address is where it listens, so that its keys can be found. */
async function startAtItsAddress(): Promise<RunningService> {
  const port = String(await freePort())
  return await startFilled('mcp.db', { PORT: port, BASE_URL: `http://127.0.0.1:${port}` })
}

beforeAll(async () => {
  fixture = await startXLayerFixture()
  service = await startAtItsAddress()
})
afterAll(async () => {
  for (const close of closing.splice(0)) await close()
  await fixture.stop()
})

type Result = Awaited<ReturnType<sdk2.Client['callTool']>>

/** How the official client comes to a revision: as always, by asking what is served, or pinned to one. */
const MODES = {
  legacy: '2025-11-25',
  auto: '2026-07-28',
  pinned: '2026-07-28',
} as const

/** The official client, connected. */
async function connect(how: keyof typeof MODES) {
  const mode = how === 'pinned' ? ({ pin: MODES[how] } as const) : how
  const client = new sdk2.Client({ name: 'buyer', version: '1' }, { versionNegotiation: { mode } })
  const transport = new sdk2.StreamableHTTPClientTransport(new URL(`${service.baseUrl}/mcp`))
  await client.connect(transport)
  closing.push(() => client.close())
  const call = async (name: string, input: object, payment?: unknown): Promise<Result> =>
    await client.callTool({
      name,
      arguments: input as Record<string, unknown>,
      ...(payment !== undefined && { _meta: { 'x402/payment': payment } }),
    })
  return { client, call }
}

/** The official x402 client with the line that lets it pay in this token. */
function payer(name = 'agent-1', id?: string): x402Client {
  const scheme = new ExactEvmClient({ signer: evmSigner(fixture.account(name)) })
  const client = new x402Client().register('eip155:*', scheme)
  if (id !== undefined)
    client.onBeforePaymentCreation(async ({ paymentRequired }) => {
      appendPaymentIdentifierToExtensions(paymentRequired.extensions ?? {}, id)
    })
  return client.setSpendControls({
    allowedAssets: [
      {
        network: 'eip155:196',
        asset: fixture.chain.stablecoin.address,
        maxAmountPerPayment: '200000',
      },
    ],
  })
}

const readChallenge = ({ structuredContent }: Result) => structuredContent as PaymentRequired

const readSettlement = ({ _meta }: Result) =>
  _meta?.['x402/payment-response'] as {
    readonly success: boolean
    readonly transaction: string
    readonly extensions: Record<string, { info: Record<string, JWSSignedReceipt> }>
  }

describe.each(['legacy', 'auto', 'pinned'] as const)('G10: the official client, %s', (how) => {
  test('asks coverage, is told the price, pays and has its grade', async () => {
    const { call, client } = await connect(how)
    expect(client.getNegotiatedProtocolVersion()).toBe(MODES[how])
    const covered = await call('coverage', { sport: 'soccer', text: 'arsenal chelsea' })
    expect(covered.structuredContent).toMatchObject({ close: 'final' })
    const before = await balanceOf('agent-1')
    const unpaid = await call('grade_pick', gradeExample)
    expect(unpaid.isError).toBe(true)
    const payment = await payer().createPaymentPayload(readChallenge(unpaid))
    const sold = await call('grade_pick', gradeExample, payment)
    expect(sold.structuredContent).toMatchObject({ outcome: 'GRADED', grade: 'F' })
    expect(readSettlement(sold)).toMatchObject({ success: true })
    expect(await balanceOf('agent-1')).toBe(before - 10_000n)
    expect(await call('grade_pick', gradeExample, payment)).toMatchObject({ content: sold.content })
    expect(await balanceOf('agent-1')).toBe(before - 10_000n)
  })

  test('buys an audit with a payment in base64', async () => {
    const { call } = await connect(how)
    const before = await balanceOf('agent-1')
    const challenge = readChallenge(await call('audit_picks', auditExample))
    // btoa alone refuses the ₮ of the token's name.
    const payload = JSON.stringify(await payer().createPaymentPayload(challenge))
    const payment = Buffer.from(payload).toString('base64')
    const sold = await call('audit_picks', auditExample, payment)
    expect(sold.structuredContent).toMatchObject({ coverage: { picks: 5, graded: 4 } })
    expect(await balanceOf('agent-1')).toBe(before - 200_000n)
  })
})

describe('X17: payment-identifier', () => {
  const NAME = 'pay_0123456789abcdef0123456789abcdef'

  test('the official hook’s name makes a second, newly signed payment for one call free, at either door', async () => {
    const { call } = await connect('pinned')
    const before = await balanceOf('agent-2')
    const buy = async (passed: object) => {
      const challenge = readChallenge(await call('grade_pick', passed))
      expect(challenge.extensions).toMatchObject({
        'payment-identifier': { info: { required: false } },
      })
      const named = payer('agent-2', NAME)
      return await call('grade_pick', passed, await named.createPaymentPayload(challenge))
    }
    const sold = await buy(gradeExample)
    expect((await buy(gradeExample)).content).toEqual(sold.content)
    expect(await balanceOf('agent-2')).toBe(before - 10_000n)
    const other = { pick: { ...gradeExample.pick, odds: '1.95' } }
    expect(await buy(other)).toMatchObject({
      isError: true,
      structuredContent: { error: 'idempotency_key_reused' },
    })
    const route = await fetch(grade(service), posted(gradeExample))
    const challenge = (await route.json()) as PaymentRequired
    const buyThere = async () => {
      const payload = await payer('agent-2', NAME).createPaymentPayload(challenge)
      const header = Buffer.from(JSON.stringify(payload)).toString('base64')
      return await fetch(grade(service), posted(gradeExample, { 'payment-signature': header }))
    }
    const [first, second] = [await buyThere(), await buyThere()]
    expect([first.status, second.status]).toEqual([200, 200])
    expect(await second.json()).toEqual(await first.json())
    expect(await balanceOf('agent-2')).toBe(before - 20_000n)
  })
})

describe('X18: what is signed', () => {
  test('the official verifier proves the offer and the receipt of a tool over did:web', async () => {
    const { call } = await connect('pinned')
    const challenge = readChallenge(await call('grade_pick', gradeExample))
    const [offer] = extractOffersFromPaymentRequired(challenge)
    const endpoint = `${service.baseUrl}/mcp`
    expect(await verifyOfferSignatureJWS(offer as JWSSignedOffer)).toMatchObject({
      resourceUrl: endpoint,
      amount: '10000',
    })
    const payment = await payer().createPaymentPayload(challenge)
    const sold = await call('grade_pick', gradeExample, payment)
    const settlement = readSettlement(sold)
    const receipt = settlement.extensions['offer-receipt']?.info['receipt'] as JWSSignedReceipt
    const { address } = fixture.account('agent-1')
    const { transaction } = settlement
    const statement = { resourceUrl: endpoint, payer: address.toLowerCase(), transaction }
    expect(await verifyReceiptSignatureJWS(receipt)).toMatchObject(statement)
    const answerText = sold.content[0]?.type === 'text' ? sold.content[0].text : ''
    const own = { calledUrl: endpoint, network: 'eip155:196', payers: [address], transaction }
    const verifier = createReceiptVerifier({ clock: systemClock })
    expect(await verifier.answer(settlement, { ...own, answerText })).toMatchObject({
      kind: 'proven',
      statement: { ...statement, answerSha256: hash('sha256', answerText) },
    })
  })

  test('a paid route’s PAYMENT-RESPONSE proves its body', async () => {
    const url = grade(service)
    const challenge = (await (await fetch(url, posted(gradeExample))).json()) as PaymentRequired
    const payload = await payer().createPaymentPayload(challenge)
    const header = Buffer.from(JSON.stringify(payload)).toString('base64')
    const answer = await fetch(url, posted(gradeExample, { 'payment-signature': header }))
    const text = Buffer.from(answer.headers.get('payment-response') ?? '', 'base64').toString()
    const verifier = createReceiptVerifier({ clock: systemClock })
    const verdict = await verifier.answer(JSON.parse(text), {
      calledUrl: url,
      network: 'eip155:196',
      payers: [fixture.account('agent-1').address],
      answerText: await answer.text(),
    })
    expect(verdict.kind).toBe('proven')
  })
})
