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
  type PaidJob,
  type PaymentTerms,
} from '@tallystick/x402'
import {
  createExactEvmScheme,
  createJsonRpcLedger,
  type EvmAsset,
  ExactEvmClient,
  evmRequirement,
  evmSigner,
  X_LAYER_NETWORK,
} from '@tallystick/x402/evm'
import { x402Client } from '@x402/core/client'
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningFacilitator, startFacilitator } from '../start-facilitator.ts'

type Grade = { readonly grade: string }

let devnet: Devnet
let chain: XLayer
let facilitator: RunningFacilitator
let asset: EvmAsset

beforeAll(async () => {
  ;[devnet, chain] = await Promise.all([startDevnet(), startXLayer()])
  asset = { network: X_LAYER_NETWORK, ...chain.stablecoin }
  const feePayer = devnet.accounts.find(({ name }) => name === 'facilitator')
  facilitator = await startFacilitator({
    network: 'hedera:testnet',
    consensusNodes: [],
    mirrorUrl: devnet.mirrorUrl,
    feePayer: feePayer?.accountId ?? '',
    feePayerKey: feePayer?.privateKey ?? '',
    evm: {
      rpcUrl: chain.rpcUrl,
      chainId: chain.chainId,
      privateKey: account('facilitator').privateKey,
      assets: [asset],
    },
  })
}, 60_000)

afterAll(async () => {
  await facilitator.stop()
  await Promise.all([chain.stop(), devnet.stop()])
})

function account(name: string): XLayerAccount {
  const found = chain.accounts.find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no account ${name}`)
  return found
}

describe('the first payment', () => {
  test('the official client pays a cent on the X Layer stand-in and gets its grade', async () => {
    const shop = await openShop()
    const payer = account('agent-1')
    const before = await chain.controls.balanceOf(account('operator').address)
    const response = await wrapFetchWithPayment(fetch, official(payer))(shop.url, {
      method: 'POST',
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ grade: 'A' })
    const settlement = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
    expect(settlement).toMatchObject({ success: true, network: 'eip155:196', payer: payer.address })
    expect(await chain.controls.balanceOf(account('operator').address)).toBe(before + 10_000n)
    await shop.close()
  })
})

function official(payer: XLayerAccount): x402Client {
  return new x402Client()
    .setSpendControls({
      allowedAssets: [
        { network: X_LAYER_NETWORK, asset: asset.address, maxAmountPerPayment: '200000' },
      ],
    })
    .register('eip155:*', new ExactEvmClient({ signer: evmSigner(payer) }))
}

/** A route behind our gate, on a plain server. */
async function openShop() {
  const ledger = createJsonRpcLedger({ url: chain.rpcUrl, clock: systemClock })
  const reservations = createMemoryReservationStore({ clock: systemClock })
  const gate = createPaymentGate({
    schemes: [createExactEvmScheme({ assets: [asset], ledger, clock: systemClock })],
    facilitator: createHttpFacilitator({ url: facilitator.url, clock: systemClock }),
    reservations,
    clock: systemClock,
  })
  const runs = { prepared: 0, fulfilled: 0 }
  const terms: PaymentTerms = {
    requirements: [evmRequirement({ asset, amount: 10_000n, payTo: account('operator').address })],
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
  return {
    url: `http://127.0.0.1:${port}/api/grade`,
    gate,
    job,
    ledger,
    reservations,
    runs,
    terms,
    async close() {
      await gate.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
