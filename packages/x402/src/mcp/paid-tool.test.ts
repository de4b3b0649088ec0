/**
 * X20: paid tools on a real MCP server, called by the official MCP client, and paid by the client of Cloudflare's agents,
 * unmodified, and by one that reads and sends what @x402/mcp does.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { x402Client } from '@x402/core/client'
import { parsePaymentRequired } from '@x402/core/schemas'
import type { PaymentRequired } from '@x402/core/types'
import { withX402Client } from 'agents/x402'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, test } from 'vitest'
import type { PaymentTerms } from '../gate/challenge.ts'
import { createPaymentGate } from '../gate/payment-gate.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import type { EvmAsset } from '../schemes/evm/evm-asset.ts'
import { ExactEvmClient } from '../schemes/evm/exact-evm-client.ts'
import { createExactEvmScheme, evmRequirement } from '../schemes/evm/exact-evm-scheme.ts'
import { EVM_PAY_TO, EvmStandIn, evmPayer } from '../testing/evm-stand-in.fixture.ts'
import { callPaidTool, listPaidTool, type ToolResult } from './paid-tool.ts'

/** A default asset of the official packages, which Cloudflare's client pays in and nothing else. */
const USDC: EvmAsset = {
  network: 'eip155:84532',
  address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  name: 'USDC',
  version: '2',
  decimals: 6,
}
const SERVER = 'https://shop.example/mcp'
const clock = { unixMs: Date.now, after: () => () => {} }

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type Script = { readonly refusal?: string; readonly isDown?: boolean }

/** A shop with one paid and one free tool, and a connected client. */
async function shop(script: Script = {}) {
  const chain = new EvmStandIn()
  const runs = { settled: 0, fulfilled: 0, delivered: 0 }
  const gate = createPaymentGate({
    schemes: [createExactEvmScheme({ assets: [USDC], ledger: chain.ledger, clock })],
    facilitator: {
      feePayers: async () => new Map(),
      async settle(_payload, { network }) {
        if (script.refusal !== undefined)
          return { success: false, transaction: '', network, errorReason: script.refusal }
        runs.settled += 1
        return { success: true, transaction: `0x${'ab'.repeat(32)}`, network }
      },
    },
    reservations: createMemoryReservationStore({ clock }),
    clock,
  })
  const terms: PaymentTerms = {
    requirements: [evmRequirement({ asset: USDC, amount: 10_000n, payTo: EVM_PAY_TO })],
    resource: { url: SERVER, description: 'One grade', mimeType: 'application/json' },
  }
  chain.isDown = script.isDown === true
  const server = new Server({ name: 'shop', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      listPaidTool({ name: 'grade_pick', description: 'Grades.', inputSchema: OBJECT }, 0.01),
      { name: 'coverage', description: 'Free.', inputSchema: OBJECT },
    ],
  }))
  const seen: unknown[] = []
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    seen.push(params._meta?.['x402/payment'])
    if (params.name === 'coverage') return { content: [{ type: 'text', text: 'all' }] }
    const { result, delivered } = await callPaidTool({
      gate,
      terms,
      call: { server: SERVER, ...params },
      job: (fingerprint) => ({
        fingerprint,
        subject: fingerprint,
        keepsAnswer: true,
        prepare: async () => ({ kind: 'ready', prepared: params.arguments }),
        mayHonour: async () => true,
        async fulfil(prepared) {
          runs.fulfilled += 1
          return { graded: prepared, run: runs.fulfilled }
        },
      }),
      render: (answer): ToolResult => ({
        content: [{ type: 'text', text: JSON.stringify(answer) }],
        structuredContent: answer,
      }),
      decline: (declined: never) => declined,
    })
    await delivered?.()
    if (delivered !== undefined) runs.delivered += 1
    return result
  })
  const client = new Client({ name: 'buyer', version: '1' })
  const [near, far] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(far), client.connect(near)])
  closing.push(async () => {
    await client.close()
    await server.close()
    await gate.close()
  })
  const call = async (payment?: unknown, args: Record<string, unknown> = { pick: 1 }) =>
    (await client.callTool({
      name: 'grade_pick',
      arguments: args,
      ...(payment === undefined ? {} : { _meta: { 'x402/payment': payment } }),
    })) as ToolResult
  return { call, chain, client, gate, runs, seen, terms }
}

const OBJECT = { type: 'object' } as const

/** Pays a challenge with the official client class. */
async function pay(challenge: unknown): Promise<object> {
  const paying = new x402Client()
    .setSpendControls({
      allowedAssets: [
        { network: USDC.network as never, asset: USDC.address, maxAmountPerPayment: '10000' },
      ],
    })
    .register('eip155:*', new ExactEvmClient({ signer: evmPayer }))
  return await paying.createPaymentPayload(challenge as PaymentRequired)
}

describe('X20: without a payment', () => {
  test('the challenge is in structuredContent, in the text and in _meta, and the official schema takes it', async () => {
    const { call, gate, runs, terms } = await shop()
    const { _meta, content, isError, structuredContent } = await call()
    const { body } = gate.challenge(terms, 'payment_required')
    expect(isError).toBe(true)
    expect(content).toEqual([{ type: 'text', text: body }])
    expect(structuredContent).toEqual(JSON.parse(body))
    expect(_meta?.['x402/error']).toEqual(JSON.parse(body))
    expect(parsePaymentRequired(structuredContent).success).toBe(true)
    expect(runs.fulfilled).toBe(0)
  })

  test('a paid tool that declares an outputSchema is refused when it is listed', () => {
    const tool = { name: 'grade_pick', inputSchema: OBJECT, outputSchema: OBJECT }
    expect(() => listPaidTool(tool, 0.01)).toThrow(RangeError)
  })

  test('nothing is sold while the terms are unknown, and no challenge is sent', async () => {
    const { gate } = await shop()
    const { result } = await callPaidTool({
      gate,
      terms: undefined,
      call: { server: SERVER, name: 'grade_pick' },
      job: () => {
        throw new Error('no job')
      },
      render: (answer: never) => answer,
      decline: (declined: never) => declined,
    })
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: 'payment_terms_unknown', retryAfterSeconds: 5 },
    })
    expect(result._meta).toBeUndefined()
  })
})

describe('X20: with a payment', () => {
  test.for([
    ['the object, as @x402/mcp sends it', (payment: object) => payment],
    [
      'its base64, as Cloudflare’s client sends it',
      (payment: object) => btoa(JSON.stringify(payment)),
    ],
  ] as const)('%s buys the tool once', async ([, form]) => {
    const { call, runs } = await shop()
    const payment = form(await pay((await call()).structuredContent))
    const paid = await call(payment)
    expect(paid.structuredContent).toEqual({ graded: { pick: 1 }, run: 1 })
    expect(paid._meta?.['x402/payment-response']).toMatchObject({ success: true })
    expect((await call(payment)).structuredContent).toEqual({ graded: { pick: 1 }, run: 1 })
    expect(runs).toEqual({ settled: 1, fulfilled: 1, delivered: 2 })
  })

  test('a payment for one call buys no other arguments', async () => {
    const { call, runs } = await shop()
    const payment = await pay((await call()).structuredContent)
    await call(payment)
    const other = await call(payment, { pick: 2 })
    expect(other.structuredContent).toMatchObject({ error: 'payment_already_used' })
    expect(runs).toMatchObject({ settled: 1, fulfilled: 1 })
  })

  test('the order of arguments makes no difference', async () => {
    const { call, runs } = await shop()
    const payment = await pay((await call()).structuredContent)
    await call(payment, { a: 1, b: [2] })
    const again = await call(payment, { b: [2], a: 1 })
    expect(again.structuredContent).toMatchObject({ run: 1 })
    expect(runs.settled).toBe(1)
  })

  test('a refused settlement is a fresh challenge with the settlement beside it', async () => {
    const { call, runs } = await shop({ refusal: 'invalid_payload' })
    const refused = await call(await pay((await call()).structuredContent))
    expect(refused).toMatchObject({
      isError: true,
      structuredContent: { x402Version: 2, error: 'invalid_payload' },
      _meta: { 'x402/payment-response': { success: false, errorReason: 'invalid_payload' } },
    })
    expect(runs.fulfilled).toBe(0)
  })

  test('an unreadable chain is no challenge: nobody signs a second payment', async () => {
    const { call, chain } = await shop()
    const challenge = (await call()).structuredContent
    chain.isDown = true
    const answer = await call(await pay(challenge))
    expect(answer).toMatchObject({
      isError: true,
      structuredContent: { error: 'ledger_unavailable' },
    })
    expect(answer._meta?.['x402/error']).toBeUndefined()
    expect(parsePaymentRequired(answer.structuredContent).success).toBe(false)
  })

  test.for([['%%%'], [5], [{ x402Version: 1 }], ['e30='], [[]]])(
    '%j is no payment: a challenge, and nothing is settled',
    async ([payment]) => {
      const { call, runs } = await shop()
      expect((await call(payment)).structuredContent).toMatchObject({ x402Version: 2 })
      expect(runs.settled).toBe(0)
    },
  )

  test('a payment sent with a free tool is ignored', async () => {
    const { call, client, runs } = await shop()
    const payment = await pay((await call()).structuredContent)
    const free = await client.callTool({
      name: 'coverage',
      arguments: {},
      _meta: { 'x402/payment': payment },
    })
    expect(free.content).toEqual([{ type: 'text', text: 'all' }])
    expect(runs.settled).toBe(0)
  })
})

type PayAs = (client: Client, options: { readonly account: object }) => PayingClient
type PayingClient = {
  listTools(): Promise<{ readonly tools: readonly { readonly description?: string }[] }>
  callTool(confirm: (offers: unknown) => Promise<boolean>, call: object): Promise<unknown>
}

/** Its declared types are those of a whole platform, which is not installed here. */
function payingClient(client: Client): PayingClient {
  const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
  return (withX402Client as unknown as PayAs)(client, { account })
}

describe('X20: Cloudflare’s client, unmodified', () => {
  test('shows the price, pays the challenge that it finds in _meta, and gets the tool', async () => {
    const { client, runs, seen } = await shop()
    const paying = payingClient(client)
    const { tools } = await paying.listTools()
    expect(tools[0]?.description).toContain('you will be charged $0.01')
    const confirmed: unknown[] = []
    const result = await paying.callTool(
      async (offers: unknown) => {
        confirmed.push(offers)
        return true
      },
      { name: 'grade_pick', arguments: { pick: 7 } },
    )
    expect(result).toMatchObject({ structuredContent: { graded: { pick: 7 }, run: 1 } })
    expect(seen[1]).toEqual(expect.any(String))
    expect([confirmed.length, runs.settled]).toEqual([1, 1])
  })

  test('pays nothing that its owner does not confirm', async () => {
    const { client, runs } = await shop()
    const paying = payingClient(client)
    await paying.callTool(async () => false, { name: 'grade_pick', arguments: { pick: 7 } })
    expect(runs.settled).toBe(0)
  })
})
