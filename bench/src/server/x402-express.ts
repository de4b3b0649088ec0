// The baseline: an application modelled on the README of @x402/express that sells the same thing through the same
// facilitator.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import { answerProbe } from './answer-probe.ts'
import {
  BENCH_CHAIN,
  CENT_BASE_UNITS,
  PAID_ANSWER,
  PAID_TIMEOUT_SECONDS,
  type PaidServerPlan,
} from './payment-network-facts.ts'

const { evmPayTo, facilitatorUrl, flow, stablecoin } = JSON.parse(
  process.argv[2] ?? '',
) as PaidServerPlan
const { address, name, version } = stablecoin
const resourceServer = new x402ResourceServer(
  new HTTPFacilitatorClient({ url: facilitatorUrl }),
).register(BENCH_CHAIN, new ExactEvmScheme())

const app = express()
app.get('/bare', (_request, response) => {
  response.json(PAID_ANSWER)
})
app.use(
  paymentMiddleware(
    {
      'GET /paid': {
        accepts: {
          scheme: 'exact',
          network: BENCH_CHAIN,
          payTo: evmPayTo,
          price: {
            asset: address,
            amount: CENT_BASE_UNITS.toString(),
            extra: { name, version, ...(flow === 'upfront' ? { paymentFlow: flow } : {}) },
          },
          maxTimeoutSeconds: PAID_TIMEOUT_SECONDS,
        },
        resource: 'http://127.0.0.1/paid',
        description: 'What the measurement buys.',
        mimeType: 'application/json',
      },
    },
    resourceServer,
  ),
)
app.get('/paid', (_request, response) => {
  response.json(PAID_ANSWER)
})

const server = createServer(app)
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve)
})
answerProbe({
  url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  async stop() {
    server.closeAllConnections()
    server.close()
  },
})
