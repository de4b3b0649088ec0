/** A shop behind our gate, on a plain server: one grade for a cent. */
import { createServer, type Server } from 'node:http'
import { systemClock } from '@tallystick/service-kit'
import {
  createHttpFacilitator,
  createMemoryReservationStore,
  createPaymentGate,
  encodePaymentResponse,
  type PaidJob,
  type PaymentGate,
  type PaymentRequirement,
  type PaymentScheme,
  type PaymentTerms,
} from '@tallystick/x402'

type Grade = { readonly grade: string }
type Job = PaidJob<string, Grade, never>

export type ShopOptions = {
  readonly scheme: PaymentScheme
  readonly facilitatorUrl: string
  readonly cent: PaymentRequirement
  /** Runs between the gate's checks and the facilitator's. */
  readonly beforeSettle?: (payload: unknown) => Promise<unknown>
}

export async function openShop({ cent, ...options }: ShopOptions) {
  const gate = createGate(options)
  const runs = { prepared: 0, fulfilled: 0 }
  const terms: PaymentTerms = {
    requirements: [cent],
    resource: {
      url: 'https://grading.example/api/grade',
      description: 'One grade',
      mimeType: 'application/json',
    },
  }
  const job: Job = {
    fingerprint: 'POST /api/grade abc',
    subject: 'grading',
    async prepare() {
      runs.prepared += 1
      return { kind: 'ready', prepared: 'A' }
    },
    mayHonour: async () => true,
    async fulfil(prepared) {
      runs.fulfilled += 1
      return { grade: prepared }
    },
  }
  const server = serve({ gate, terms, job })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/api/grade`,
    cent,
    /** How often the job's steps ran. */
    runs,
    /** A payment header for what the shop sells. */
    wrap(payload: unknown): string {
      const envelope = { x402Version: 2, payload, accepted: cent, resource: terms.resource }
      return Buffer.from(JSON.stringify(envelope)).toString('base64')
    },
    close: async (): Promise<void> => {
      await gate.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function createGate({ beforeSettle, facilitatorUrl, scheme }: Omit<ShopOptions, 'cent'>) {
  const clock = systemClock
  const remote = createHttpFacilitator({ url: facilitatorUrl, clock })
  return createPaymentGate({
    schemes: [scheme],
    facilitator: {
      ...remote,
      async settle(payload, requirement) {
        await beforeSettle?.(payload.payload)
        return await remote.settle(payload, requirement)
      },
    },
    reservations: createMemoryReservationStore({ clock }),
    clock,
  })
}

function serve(shop: {
  readonly gate: PaymentGate
  readonly terms: PaymentTerms
  readonly job: Job
}): Server {
  const { gate, job, terms } = shop
  return createServer((request, response) => {
    const header = request.headers['payment-signature']
    const paymentSignature = typeof header === 'string' ? header : undefined
    void gate.pay({ paymentSignature }, terms, job).then((outcome) => {
      if (outcome.kind === 'paid') {
        const encoded = encodePaymentResponse(outcome.settlement)
        response.writeHead(200, { 'payment-response': encoded })
        return response.end(JSON.stringify(outcome.answer))
      }
      if (outcome.kind !== 'challenged') return response.writeHead(502).end(outcome.kind)
      const challenge = gate.challenge(terms, outcome.error)
      return response.writeHead(402, challenge.headers).end(challenge.body)
    })
  })
}
