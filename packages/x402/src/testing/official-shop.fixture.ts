/**
 * A shop behind our gate over a real socket, with every extension that it declares, and the official client, unmodified,
 * that pays there.
 */
import { x402Client } from '@x402/core/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import fastify from 'fastify'
import { paidRoute } from '../fastify/paid-route.ts'
import type { PaymentTerms } from '../gate/challenge.ts'
import { createReceiptIssuer } from '../receipts/receipt-issuer.ts'
import { ExactHederaClient } from '../schemes/hedera/exact-hedera-client.ts'
import { HederaStandIn, NETWORK, PAYER } from './hedera-stand-in.fixture.ts'
import { keptAnswerFixture } from './kept-answer.fixture.ts'
import { listen } from './scripted-server.fixture.ts'

/** The seed of the research's vectors. */
export const SEED = '07'.repeat(32)

/** The official client with the line that lets it pay in HBAR. */
export function officialBuyer(ledger: HederaStandIn, payer = PAYER): x402Client {
  const signer = ledger.signers.get(payer)
  if (signer === undefined) throw new Error('no payer')
  return new x402Client()
    .setSpendControls({
      allowedAssets: [{ network: NETWORK, asset: '0.0.0', maxAmountPerPayment: '1000000000' }],
    })
    .register('hedera:*', new ExactHederaClient({ signer, clock: ledger.clock }))
}

const post = (body: unknown) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** Sells cards at `/api/grade` and `/api/audit`; its did:web document holds its key. */
export async function officialShop(changes: Partial<PaymentTerms> = {}) {
  const ledger = new HederaStandIn()
  const opened = Promise.withResolvers<ReturnType<typeof openShop>>()
  const app = fastify()
  for (const path of ['/api/grade', '/api/audit'])
    app.post(path, async (request, reply) => {
      const { route } = await opened.promise
      return await route(path).handler(request, reply)
    })
  app.get('/.well-known/did.json', async () => (await opened.promise).issuer.didDocument)
  const { close, url } = await listen(app)
  const shop = openShop({ ledger, url, changes })
  opened.resolve(shop)
  /** Every exchange of the official client with the shop. */
  const exchanges: { readonly payment: string | null; readonly response: Response }[] = []
  const watched: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const response = await fetch(request)
    exchanges.push({
      payment: request.headers.get('payment-signature'),
      response: response.clone(),
    })
    return response
  }
  return {
    ...shop,
    url,
    close,
    exchanges,
    /** Buys with a client. */
    buy: (client: x402Client, body: unknown = { pick: 1 }, path = '/api/grade') =>
      wrapFetchWithPayment(watched, client)(`${url}${path}`, post(body)),
    /** Sends a captured header again. */
    resend: (header: string, body: unknown = { pick: 1 }) => {
      const { headers, ...rest } = post(body)
      return fetch(`${url}/api/grade`, {
        ...rest,
        headers: { ...headers, 'payment-signature': header },
      })
    },
  }
}

function openShop(options: {
  readonly ledger: HederaStandIn
  readonly url: string
  readonly changes: Partial<PaymentTerms>
}) {
  const { changes, ledger, url } = options
  const issuer = createReceiptIssuer({ baseUrl: url, privateKey: SEED, clock: ledger.clock })
  const fixture = keptAnswerFixture({ ledger, receipts: issuer })
  const { gate, job } = fixture
  const termsByPath = new Map<string, PaymentTerms>()
  const termsFor = (path: string): PaymentTerms => {
    const known = termsByPath.get(path)
    if (known !== undefined) return known
    const resource = { ...fixture.terms.resource, url: `${url}${path}` }
    const terms: PaymentTerms = { ...fixture.terms, resource, takesIdentifier: true, ...changes }
    termsByPath.set(path, terms)
    return terms
  }
  const route = (path: string) =>
    paidRoute<string, string, string>({
      gate,
      terms: () => termsFor(path),
      job: ({ body }) => {
        const fingerprint = `POST ${path} ${JSON.stringify(body)}`
        const plain = job({ fingerprint, subject: fingerprint })
        return {
          ...plain,
          answersJson: true,
          fulfil: async (...settled): Promise<string> =>
            JSON.stringify(await plain.fulfil(...settled)),
        }
      },
      sendAnswer: (reply, answer: string) =>
        reply.serializer(String).type('application/json; charset=utf-8').send(answer),
      decline: (reply, declined) => reply.code(409).send({ error: declined }),
    })
  return { ...fixture, issuer, route, termsFor }
}
