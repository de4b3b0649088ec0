/**
 * X8, X9: the gate in front of a facilitator over HTTP that behaves as the modes of the public battery hostile-facilitator,
 * by their names, and what x402-conformance asks of every seller. The payer's side is in packages/agent.
 */
import fastify, { type FastifyReply } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import type { Clock } from '../clock.ts'
import { createHttpFacilitator } from '../facilitators/facilitator.ts'
import { paidRoute } from '../fastify/paid-route.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import { X_LAYER_USDT0 } from '../schemes/evm/evm-asset.ts'
import { createExactEvmScheme } from '../schemes/evm/exact-evm-scheme.ts'
import {
  centRequirement,
  EVM_NOW_SECONDS,
  EvmStandIn,
  payCent,
} from '../testing/evm-stand-in.fixture.ts'
import { decodeHeader, encodeHeader } from '../testing/payment-header.fixture.ts'
import { listen } from '../testing/scripted-server.fixture.ts'
import { terms } from './evm-gate.fixture.ts'
import { createPaymentGate } from './payment-gate.ts'

const MODES = [
  'clean',
  'accept_then_timeout',
  '5xx_after_settle',
  'double_402',
  'slow_answer',
  'reconcile_unavailable',
  'declared_safe',
] as const
type Mode = (typeof MODES)[number]

/** The clock runs this much faster: 30 s of waiting take 1.5, and a payment is good for 15 even on a busy machine. */
const HURRY = 20
const SLOW_MS = 8_000

function hurriedClock(): Clock {
  const startMs = Date.now()
  return {
    unixMs: () => EVM_NOW_SECONDS * 1_000 + (Date.now() - startMs) * HURRY,
    after(ms, run) {
      const timer = setTimeout(run, ms / HURRY)
      return () => clearTimeout(timer)
    },
  }
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** A shop on a real socket over a facilitator in that mode. */
async function shop(mode: Mode) {
  const clock = hurriedClock()
  const chain = new EvmStandIn(clock)
  const scheme = createExactEvmScheme({ assets: [X_LAYER_USDT0], ledger: chain.ledger, clock })
  let calls = 0

  async function submit(payload: unknown): Promise<string> {
    const verified = await scheme.verify(payload, centRequirement())
    if (verified.kind !== 'valid') throw new Error('the gate has verified it')
    return chain.submit(verified.payment) ?? chain.receipts.at(-1)?.transaction ?? ''
  }

  const behaved: Readonly<Record<Mode, (transaction: string, reply: FastifyReply) => unknown>> = {
    clean: (transaction) => ({ success: true, transaction, network: 'eip155:196' }),
    accept_then_timeout: async () => await new Promise(() => {}),
    '5xx_after_settle': (_transaction, reply) => reply.code(500).send({ error: 'oops' }),
    double_402: (_transaction, reply) =>
      reply.code(402).send({
        success: false,
        transaction: '',
        network: 'eip155:196',
        errorReason: 'invalid_payload',
      }),
    slow_answer: async (transaction) => {
      await new Promise<void>((resolve) => void clock.after(SLOW_MS, resolve))
      return { success: true, transaction, network: 'eip155:196' }
    },
    reconcile_unavailable: (_transaction, reply) => {
      chain.isDown = true
      clock.after(SLOW_MS, () => {
        chain.isDown = false
      })
      return reply.code(502).send({ status: 'unknown' })
    },
    declared_safe: () => ({
      success: false,
      transaction: '',
      network: 'eip155:196',
      errorReason: 'settlement_failed_safe_to_retry',
    }),
  }
  const facilitator = fastify({ forceCloseConnections: true })
  facilitator.post('/settle', async (request, reply) => {
    calls += 1
    const { paymentPayload } = request.body as { readonly paymentPayload: { payload: unknown } }
    const transaction = await submit(paymentPayload.payload)
    // For the seller alone.
    void reply.header('EXTENSION-RESPONSES', 'eyJiYXphYXIiOnsic3RhdHVzIjoic3VjY2VzcyJ9fQ==')
    return behaved[mode](transaction, reply)
  })
  const hostile = await listen(facilitator)
  closing.push(hostile.close)
  const gate = createPaymentGate({
    schemes: [scheme],
    facilitator: createHttpFacilitator({ url: hostile.url, clock }),
    reservations: createMemoryReservationStore({ clock }),
    clock,
  })
  closing.push(() => gate.close())
  let served = 0
  const app = fastify({ forceCloseConnections: true })
  app.get(
    '/report',
    paidRoute({
      gate,
      terms: () => terms,
      job: () => ({
        fingerprint: 'GET /report',
        subject: 'report',
        keepsAnswer: true,
        prepare: async () => ({ kind: 'ready', prepared: undefined }),
        mayHonour: async () => true,
        async fulfil() {
          served += 1
          return { report: served }
        },
      }),
      decline: (reply, declined: never) => reply.send(declined),
    }),
  )
  const { close, url } = await listen(app)
  closing.push(close)
  const sign = async () => {
    const accepted = centRequirement()
    const payload = await payCent(accepted, Math.floor(clock.unixMs() / 1_000))
    return encodeHeader({ x402Version: 2, payload, accepted })
  }
  const send = (header?: string) =>
    fetch(`${url}/report`, header === undefined ? {} : { headers: { 'payment-signature': header } })
  return { counts: () => ({ asked: calls, settled: chain.used.size, served }), send, sign }
}

/** As official clients: at a 402 a new payment, at most three; at anything else the same header again. */
async function buy({ send, sign }: Awaited<ReturnType<typeof shop>>) {
  const statuses: number[] = []
  for (let signed = 1; signed <= 3; signed += 1) {
    const header = await sign()
    for (let sent = 0; sent < 60; sent += 1) {
      const answer = await send(header)
      statuses.push(answer.status)
      if (answer.status === 200) return { answer, signed, statuses }
      if (answer.status === 402) break
    }
  }
  throw new Error(`never served: ${statuses.join(' ')}`)
}

describe('X8, X9: hostile-facilitator, in front of the gate', () => {
  test.for(MODES)('%s: one nonce settled, one signature, one answer', async (mode) => {
    const at = await shop(mode)
    const { answer, signed, statuses } = await buy(at)
    expect(await answer.json()).toEqual({ report: 1 })
    // Never a 402 once money may have moved: the buyer would sign again.
    expect(statuses).not.toContain(402)
    expect({ ...at.counts(), signed }).toMatchObject({ settled: 1, served: 1, signed: 1 })
    const settlement = decodeHeader(answer.headers.get('payment-response') ?? '')
    expect(settlement).toMatchObject({ success: true })
  })
})

describe('X2, X6: x402-conformance', () => {
  test('EXTENSION-RESPONSES, which is for the seller, reaches no buyer: neither on 402 nor on 200', async () => {
    const at = await shop('clean')
    const unpaid = await at.send()
    const { answer } = await buy(at)
    expect([unpaid.status, answer.status]).toEqual([402, 200])
    for (const { headers } of [unpaid, answer])
      expect([...headers.keys()].filter((name) => name.includes('extension'))).toEqual([])
  })

  test('a payment refused before submission names no transaction', async () => {
    const at = await shop('clean')
    const envelope = decodeHeader(await at.sign()) as unknown as { accepted: { amount: string } }
    const cheaper = { ...envelope, accepted: { ...envelope.accepted, amount: '1' } }
    const answer = await at.send(encodeHeader(cheaper))
    expect(answer.status).toBe(402)
    expect(answer.headers.get('payment-response')).toBeNull()
    expect(at.counts()).toMatchObject({ asked: 0, settled: 0 })
  })

  test('upfront is offered with exact alone, never with upto', async () => {
    const at = await shop('clean')
    const { accepts } = (await (await at.send()).json()) as {
      readonly accepts: readonly { readonly scheme: string; readonly extra: object }[]
    }
    expect(accepts.map(({ extra, scheme }) => [scheme, extra])).toEqual([
      ['exact', expect.objectContaining({ paymentFlow: 'upfront' })],
    ])
  })
})
