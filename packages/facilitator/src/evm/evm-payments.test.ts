/**
 * The whole way of a payment on the X Layer stand-in over real HTTP: the official client, our gate, our facilitator and
 * a real EVM with a real token.
 */

import { createServer, type Server } from 'node:http'
import {
  type Devnet,
  startDevnet,
  startXLayer,
  type XLayer,
  type XLayerAccount,
} from '@tallystick/devnet'
import { systemClock } from '@tallystick/service-kit'
import {
  createHttpFacilitator,
  createMemoryReservationStore,
  createPaymentGate,
  LedgerUnavailable,
  type PaidJob,
  type PaymentTerms,
} from '@tallystick/x402'
import {
  checkEvmDomain,
  createExactEvmScheme,
  createJsonRpcLedger,
  type EvmAsset,
  type EvmSigner,
  ExactEvmClient,
  evmRequirement,
  evmSigner,
  readEvmPayload,
  X_LAYER_NETWORK,
} from '@tallystick/x402/evm'
import { x402Client } from '@x402/core/client'
import { HTTPFacilitatorClient } from '@x402/core/http'
import type { PaymentPayload, PaymentRequirements, SettleResponse } from '@x402/core/types'
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { xLayer } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createEvmFacilitator } from '../evm-facilitator.ts'
import { type RunningFacilitator, startFacilitator } from '../start-facilitator.ts'
import { NONCE_USED } from './evm-settlement-end.ts'
import { transferCall } from './transfer-call.ts'

type Grade = { readonly grade: string }

let devnet: Devnet
let chain: XLayer
let facilitator: RunningFacilitator
/** A facilitator that gives the chain little time, for blocks that do not come. */
let impatient: RunningFacilitator
let asset: EvmAsset

const STRANGER_KEY = `0x${'99'.repeat(32)}` as const
const closing: (() => Promise<void>)[] = []

beforeAll(async () => {
  ;[devnet, chain] = await Promise.all([startDevnet(), startXLayer()])
  asset = { network: X_LAYER_NETWORK, ...chain.stablecoin }
  const feePayer = devnet.accounts.find(({ name }) => name === 'facilitator')
  const common = {
    network: 'hedera:testnet',
    consensusNodes: [],
    mirrorUrl: devnet.mirrorUrl,
    feePayer: feePayer?.accountId ?? '',
    feePayerKey: feePayer?.privateKey ?? '',
  }
  const evm = {
    rpcUrl: chain.rpcUrl,
    chainId: chain.chainId,
    privateKey: account('facilitator').privateKey,
    assets: [asset],
  }
  facilitator = await startFacilitator({ ...common, evm })
  impatient = await startFacilitator({ ...common, evm: { ...evm, outcomeMs: 300 } })
}, 60_000)

afterAll(async () => {
  for (const close of closing.splice(0)) await close()
  await facilitator.stop()
  await impatient.stop()
  await Promise.all([chain.stop(), devnet.stop()])
})

function account(name: string): XLayerAccount {
  const found = chain.accounts.find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no account ${name}`)
  return found
}

describe('X13: the official client, unmodified, on the X Layer stand-in', () => {
  test('pays a cent with its setSpendControls line and gets its grade', async () => {
    const shop = await openShop()
    const payer = account('agent-1')
    const before = await chain.controls.balanceOf(operator())
    const response = await wrapFetchWithPayment(fetch, official(payer))(shop.url, {
      method: 'POST',
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ grade: 'A' })
    const settlement = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
    expect(settlement).toMatchObject({ success: true, network: 'eip155:196', payer: payer.address })
    expect(await chain.controls.balanceOf(operator())).toBe(before + 10_000n)
  })

  test('refuses the token without that line, before anything is signed', async () => {
    const shop = await openShop()
    const signer = evmSigner(account('agent-1'))
    const cautious = new x402Client().register('eip155:*', new ExactEvmClient({ signer }))
    const paying = wrapFetchWithPayment(fetch, cautious)(shop.url, { method: 'POST' })
    await expect(paying).rejects.toThrow(/spend/i)
  })

  test('an account of viem is a signer as it is', async () => {
    const shop = await openShop()
    const { privateKey } = account('agent-2')
    const client = official(account('agent-2'), privateKeyToAccount(privateKey))
    expect((await wrapFetchWithPayment(fetch, client)(shop.url, { method: 'POST' })).status).toBe(
      200,
    )
  })

  test('the standard facilitator client and /supported name both networks', async () => {
    const client = new HTTPFacilitatorClient({ url: facilitator.url })
    const { kinds, signers } = await client.getSupported()
    expect(kinds.map(({ network }) => network).toSorted()).toEqual(['eip155:196', 'hedera:testnet'])
    expect(signers['eip155:*']).toEqual([account('facilitator').address])
    const [payload, requirement] = await order(account('agent-3'))
    expect(await client.verify(payload, requirement)).toMatchObject({ isValid: true })
    expect(await client.settle(payload, requirement)).toMatchObject({ success: true })
  })
})

describe('X7: one payment, one effect', () => {
  test('50 identical requests at once are one transaction, one grade and 50 equal answers', async () => {
    const shop = await openShop()
    const header = await shop.sign(account('agent-4'))
    const [paidBefore, sentBefore] = [await chain.controls.balanceOf(operator()), await sentCount()]
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const response = await post(shop.url, header)
        return { status: response.status, body: await response.text() }
      }),
    )
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(shop.runs).toEqual({ prepared: 1, fulfilled: 1 })
    expect(await chain.controls.balanceOf(operator())).toBe(paidBefore + 10_000n)
    expect(await sentCount()).toBe(sentBefore + 1)
  })

  test('50 settlements of one payment at the facilitator at once are one transaction', async () => {
    const client = new HTTPFacilitatorClient({ url: facilitator.url })
    const [payload, requirement] = await order(account('agent-4'))
    const sentBefore = await sentCount()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => client.settle(payload, requirement)),
    )
    expect(await sentCount()).toBe(sentBefore + 1)
    expect(answers.filter(({ success }) => success).length).toBeGreaterThan(0)
    const reasons = new Set(answers.map(({ errorReason }) => errorReason ?? 'settled'))
    reasons.delete('settled')
    expect([...reasons].every((reason) => reason === NONCE_USED.reason)).toBe(true)
  })

  test('replay: the same payment for something else is refused, for another shop too', async () => {
    const [shop, other] = [await openShop(), await openShop()]
    const header = await shop.sign(account('agent-5'))
    expect((await post(shop.url, header)).status).toBe(200)
    const sentBefore = await sentCount()
    const refusal = await post(other.url, header)
    expect(refusal.status).toBe(402)
    expect(await refusal.json()).toMatchObject({ error: 'payment_already_used' })
    expect(other.runs).toEqual({ prepared: 0, fulfilled: 0 })
    expect(await sentCount()).toBe(sentBefore)
  })

  test('40 different payments at once are all settled, in order of nonces', async () => {
    const client = new HTTPFacilitatorClient({ url: facilitator.url })
    const orders = await Promise.all(Array.from({ length: 40 }, () => order(account('agent-6'))))
    const answers = await Promise.all(orders.map((one) => client.settle(...one)))
    expect(answers.map(({ success }) => success)).toEqual(orders.map(() => true))
    expect(new Set(answers.map(({ transaction }) => transaction)).size).toBe(40)
  })
})

describe('X10: front-run', () => {
  test('paid but denied: somebody else submits the authorization first; it is honoured, once', async () => {
    const shop = await openShop({ beforeSettle: submitAsStranger })
    const header = await shop.sign(account('agent-7'))
    const response = await post(shop.url, header)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ grade: 'A' })
    expect((await post(shop.url, header)).status).toBe(200)
    expect(shop.runs.fulfilled).toBe(1)
  })

  test('submitted by somebody else before it came to us: payment_already_used', async () => {
    const shop = await openShop()
    const [payload] = await order(account('agent-7'))
    await submitAsStranger(payload.payload)
    const refusal = await post(shop.url, shop.wrap(payload.payload))
    expect(refusal.status).toBe(402)
    expect(await refusal.json()).toMatchObject({ error: 'payment_already_used' })
  })
})

describe('what the facilitator answers', () => {
  test('a used nonce is a duplicate, without a transaction of ours', async () => {
    const [payload, requirement] = await order(account('agent-8'))
    await submitAsStranger(payload.payload)
    expect(await settle(payload, requirement)).toMatchObject({ success: false, ...usedAnswer })
  })

  test('a token that does not revert on a used nonce must not pass', async () => {
    await chain.controls.setToleratesReplay(true)
    try {
      const [payload, requirement] = await order(account('agent-8'))
      expect(await settle(payload, requirement)).toMatchObject({ success: true })
      expect(await settle(payload, requirement)).toMatchObject({ success: false, ...usedAnswer })
      // Faster than our own transaction, behind the checks: both are mined in one block, without a revert.
      const [raced] = await order(account('agent-8'))
      await chain.controls.holdBlocks(true)
      const stranger = await submitAsStranger(raced.payload, { isAwaited: false })
      const settling = settle(raced, requirement)
      await poolHolds(2)
      await chain.controls.holdBlocks(false)
      expect(await settling).toMatchObject({ success: false, ...usedAnswer })
      expect((await viem().getTransactionReceipt({ hash: stranger })).status).toBe('success')
    } finally {
      await chain.controls.holdBlocks(false)
      await chain.controls.setToleratesReplay(false)
    }
  })

  test('a payer without enough is refused before submission', async () => {
    const poor = { ...account('agent-9'), privateKey: `0x${'77'.repeat(32)}` as const }
    const [payload, requirement] = await order(poor)
    const sentBefore = await sentCount()
    expect(await settle(payload, requirement)).toMatchObject({
      success: false,
      transaction: '',
      errorReason: 'invalid_exact_evm_insufficient_balance',
    })
    expect(await sentCount()).toBe(sentBefore)
  })

  test('while no block comes the settlement is pending with its hash; asked again, nothing is sent twice', async () => {
    const [payload, requirement] = await order(account('agent-9'))
    const client = new HTTPFacilitatorClient({ url: impatient.url })
    await chain.controls.holdBlocks(true)
    try {
      const first = await client.settle(payload, requirement)
      expect(first).toMatchObject({ success: false, errorReason: 'settlement_pending' })
      expect(first.transaction).toMatch(/^0x[0-9a-f]{64}$/)
      const second = await client.settle(payload, requirement)
      expect(second).toMatchObject({ transaction: first.transaction })
      await poolHolds(1)
      await chain.controls.holdBlocks(false)
      const third = await client.settle(payload, requirement)
      expect(third).toMatchObject({ success: true, transaction: first.transaction })
    } finally {
      await chain.controls.holdBlocks(false)
    }
  })

  test('a nonce that somebody else took from the submitting account wedges nothing', async () => {
    const first = await order(account('agent-9'))
    expect(await settle(...first)).toMatchObject({ success: true })
    // The same key in another process, as a second replica would have it.
    const { privateKey } = account('facilitator')
    await viem(privateKey).sendTransaction({ to: operator(), value: 1n })
    expect(await settle(...(await order(account('agent-9'))))).toMatchObject({ success: true })
    expect(await settle(...(await order(account('agent-9'))))).toMatchObject({ success: true })
  })

  test('a wallet that is a contract pays by EIP-1271', async () => {
    // PUSH4 0x1626ba7e PUSH1 0xe0 SHL PUSH1 0 MSTORE PUSH1 32 PUSH1 0 RETURN: agrees to everything.
    const wallet = `0x${'c0'.repeat(20)}` as const
    await chain.controls.setCode(wallet, '0x631626ba7e60e01b60005260206000f3')
    await chain.controls.mint(wallet, 10_000n)
    const [{ payload }, requirement] = await order(account('agent-9'))
    const { authorization } = payload as { authorization: Record<string, string> }
    const signed = { authorization: { ...authorization, from: wallet }, signature: '0x1234' }
    const ordered = { x402Version: 2, accepted: requirement, payload: signed } as const
    expect(await settle(ordered, requirement)).toMatchObject({ success: true, payer: wallet })
    expect(await chain.controls.balanceOf(wallet)).toBe(0n)
  })

  test('an amount, a receiver or a network other than the seller’s is refused', async () => {
    const [payload, requirement] = await order(account('agent-9'))
    const dearer = { ...requirement, amount: '10001' }
    expect(await settle(payload, dearer)).toMatchObject({
      errorReason: 'accepted_payment_requirements_mismatch',
    })
    expect(await settle({ ...payload, accepted: dearer }, dearer)).toMatchObject({
      errorReason: 'invalid_exact_evm_payload_authorization_value_mismatch',
      transaction: '',
    })
    expect(await settle(payload, { ...requirement, network: 'eip155:1' })).toMatchObject({
      errorReason: 'network_mismatch',
    })
  })

  test('it is ready, and says which chain it would not be ready for', async () => {
    const report = (await (await fetch(`${facilitator.url}/ready`)).json()) as {
      checks: { evm: { kind: string; details?: { address: string } } }
    }
    expect(report.checks.evm).toMatchObject({
      kind: 'ready',
      details: { address: account('facilitator').address },
    })
    const { privateKey } = account('facilitator')
    const common = { rpcUrl: chain.rpcUrl, privateKey, clock: systemClock }
    await expect(
      createEvmFacilitator({ ...common, chainId: 196, assets: [{ ...asset, name: 'USDT0' }] }),
    ).rejects.toThrow(/wrong_domain/)
    const elsewhere = [{ ...asset, network: 'eip155:1' }]
    await expect(
      createEvmFacilitator({ ...common, chainId: 1, assets: elsewhere }),
    ).rejects.toThrow(/wrong_chain/)
  })
})

describe('the ledger over JSON-RPC', () => {
  test('finds what landed, and reads the token', async () => {
    const ledger = createJsonRpcLedger({ url: chain.rpcUrl, clock: systemClock })
    expect(await checkEvmDomain(asset, ledger)).toEqual({ kind: 'right' })
    const [payload, requirement] = await order(account('agent-10'))
    const scheme = createExactEvmScheme({ assets: [asset], ledger, clock: systemClock })
    const verified = await scheme.verify(payload.payload, { ...requirement, scheme: 'exact' })
    if (verified.kind !== 'valid') throw new Error('not valid')
    expect(await scheme.find(verified.payment)).toEqual({ kind: 'unknown' })
    const transaction = await submitAsStranger(payload.payload)
    expect(await scheme.find(verified.payment)).toMatchObject({ kind: 'landed', transaction })
  })

  test('an address without a token, or without a node, is LedgerUnavailable', async () => {
    const key = { asset: operator(), payer: operator(), nonce: `0x${'00'.repeat(32)}` } as const
    for (const url of [chain.rpcUrl, 'http://127.0.0.1:1', facilitator.url]) {
      const ledger = createJsonRpcLedger({ url, clock: systemClock })
      await expect(ledger.isAuthorizationUsed(key)).rejects.toThrow(LedgerUnavailable)
    }
  })
})

async function settle(
  payload: PaymentPayload,
  requirement: PaymentRequirements,
): Promise<SettleResponse> {
  return await new HTTPFacilitatorClient({ url: facilitator.url }).settle(payload, requirement)
}

const usedAnswer = { errorReason: NONCE_USED.reason, transaction: '' }

function operator(): `0x${string}` {
  return account('operator').address
}

/** A client of viem, as a stranger or, with a key, as somebody. */
function viem(privateKey: `0x${string}` = STRANGER_KEY) {
  return createWalletClient({
    account: privateKeyToAccount(privateKey),
    chain: xLayer,
    transport: http(chain.rpcUrl),
    pollingInterval: 10,
  }).extend(publicActions)
}

/** Submits an authorization as anybody may who has read it. */
async function submitAsStranger(
  payload: unknown,
  { isAwaited = true }: { isAwaited?: boolean } = {},
): Promise<`0x${string}`> {
  const read = readEvmPayload(payload)
  if (read === undefined) throw new Error('no payload')
  const client = viem()
  await chain.controls.setGasBalance(client.account.address, 10n ** 18n)
  const call = transferCall(asset, read)
  const hash = await client.sendTransaction({ ...call, gas: 200_000n, gasPrice: 10n ** 11n })
  if (isAwaited) await client.waitForTransactionReceipt({ hash })
  return hash
}

/** Transactions of the facilitator so far. */
async function sentCount(): Promise<number> {
  return await viem().getTransactionCount({ address: account('facilitator').address })
}

/** Waits until so many transactions wait for a block. */
async function poolHolds(count: number): Promise<void> {
  await vi.waitUntil(async () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'txpool_status', params: [] }
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify(message)
    const response = await fetch(chain.rpcUrl, { method: 'POST', headers, body })
    const { result } = (await response.json()) as { result: { pending: string } }
    return Number(result.pending) === count
  }, 60_000)
}

/** A payment for a cent, as a facilitator gets it. */
async function order(payer: XLayerAccount): Promise<[PaymentPayload, PaymentRequirements]> {
  const requirement = centOf() as PaymentRequirements
  const client = new ExactEvmClient({ signer: evmSigner(payer) })
  const { payload } = await client.createPaymentPayload(2, requirement)
  return [{ x402Version: 2, accepted: requirement, payload }, requirement]
}

function centOf() {
  return evmRequirement({ asset, amount: 10_000n, payTo: operator() })
}

async function post(url: string, header: string): Promise<Response> {
  return await fetch(url, { method: 'POST', headers: { 'payment-signature': header } })
}

function official(payer: XLayerAccount, signer: EvmSigner = evmSigner(payer)): x402Client {
  return new x402Client()
    .setSpendControls({
      allowedAssets: [
        { network: X_LAYER_NETWORK, asset: asset.address, maxAmountPerPayment: '200000' },
      ],
    })
    .register('eip155:*', new ExactEvmClient({ signer }))
}

/** A route behind our gate, on a plain server. */
async function openShop(options: { beforeSettle?: (payload: unknown) => Promise<unknown> } = {}) {
  const remote = createHttpFacilitator({ url: facilitator.url, clock: systemClock })
  const ledger = createJsonRpcLedger({ url: chain.rpcUrl, clock: systemClock })
  const reservations = createMemoryReservationStore({ clock: systemClock })
  const gate = createPaymentGate({
    schemes: [createExactEvmScheme({ assets: [asset], ledger, clock: systemClock })],
    facilitator: {
      ...remote,
      async settle(payload, requirement) {
        await options.beforeSettle?.(payload.payload)
        return await remote.settle(payload, requirement)
      },
    },
    reservations,
    clock: systemClock,
  })
  const runs = { prepared: 0, fulfilled: 0 }
  const terms: PaymentTerms = {
    requirements: [centOf()],
    resource: {
      url: 'https://grading.example/api/grade',
      description: 'One grade',
      mimeType: 'application/json',
    },
  }
  const job: PaidJob<string, Grade, never> = {
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
  const server: Server = createServer((request, response) => {
    const header = request.headers['payment-signature']
    void gate
      .pay({ paymentSignature: typeof header === 'string' ? header : undefined }, terms, job)
      .then((outcome) => {
        if (outcome.kind === 'paid') {
          const encoded = Buffer.from(JSON.stringify(outcome.settlement)).toString('base64')
          response.writeHead(200, { 'payment-response': encoded })
          return response.end(JSON.stringify(outcome.answer))
        }
        if (outcome.kind !== 'challenged') return response.writeHead(502).end(outcome.kind)
        const challenge = gate.challenge(terms, outcome.error)
        return response.writeHead(402, challenge.headers).end(challenge.body)
      })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  closing.push(async () => {
    await gate.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const wrap = (payload: unknown): string => {
    const [accepted] = terms.requirements
    const envelope = { x402Version: 2, payload, accepted, resource: terms.resource }
    return Buffer.from(JSON.stringify(envelope)).toString('base64')
  }
  return {
    url: `http://127.0.0.1:${port}/api/grade`,
    runs,
    wrap,
    sign: async (payer: XLayerAccount) => wrap((await order(payer))[0].payload),
  }
}
