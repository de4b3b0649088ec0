// Ours: the payment gate on one plain Fastify route that does no work itself. `/bare` is the same application without a
// gate, and `/bare-402` sends a challenge's bytes without deciding anything.
import { systemClock } from '@tallystick/service-kit'
import {
  createHttpFacilitator,
  createMemoryReservationStore,
  createPaymentGate,
  type PaymentTerms,
} from '@tallystick/x402'
import { createExactEvmScheme, createJsonRpcLedger, evmRequirement } from '@tallystick/x402/evm'
import { paidRoute } from '@tallystick/x402/fastify'
import fastify from 'fastify'
import { answerProbe } from './answer-probe.ts'
import {
  BENCH_CHAIN,
  CENT_BASE_UNITS,
  PAID_ANSWER,
  PAID_TIMEOUT_SECONDS,
  type PaidServerPlan,
} from './payment-network-facts.ts'

const plan = JSON.parse(process.argv[2] ?? '') as PaidServerPlan
const clock = systemClock
const asset = { ...plan.stablecoin, network: BENCH_CHAIN, decimals: 6 }
const gate = createPaymentGate({
  schemes: [
    createExactEvmScheme({
      assets: [asset],
      ledger: createJsonRpcLedger({ url: plan.evmUrl, clock }),
      clock,
    }),
  ],
  facilitator: createHttpFacilitator({ url: plan.facilitatorUrl, clock }),
  reservations: createMemoryReservationStore({ clock }),
  clock,
})
const terms: PaymentTerms = {
  requirements: [
    evmRequirement({
      asset,
      amount: CENT_BASE_UNITS,
      payTo: plan.evmPayTo,
      maxTimeoutSeconds: PAID_TIMEOUT_SECONDS,
    }),
  ],
  resource: {
    url: 'http://127.0.0.1/paid',
    description: 'What the measurement buys.',
    mimeType: 'application/json',
  },
}
const challenge = gate.challenge(terms, 'payment_required')

const app = fastify()
app.get('/bare', async () => PAID_ANSWER)
app.get('/bare-402', async (_request, reply) =>
  reply.code(402).headers(challenge.headers).serializer(String).send(challenge.body),
)
app.route({
  method: 'GET',
  url: '/paid',
  ...paidRoute({
    gate,
    terms: () => terms,
    job: () => ({
      fingerprint: 'GET /paid',
      subject: 'the route',
      prepare: async () => ({ kind: 'ready', prepared: undefined }),
      mayHonour: async () => true,
      fulfil: async () => PAID_ANSWER,
    }),
    decline: (reply) => reply.send(),
  }),
})
answerProbe({
  url: await app.listen({ host: '127.0.0.1', port: 0 }),
  async stop() {
    await gate.close()
    await app.close()
  },
})
