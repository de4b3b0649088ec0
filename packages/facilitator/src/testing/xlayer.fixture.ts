/**
 * The X Layer stand-in with two facilitators over real HTTP, one of them impatient, and what tests do there: payments of
 * a cent, a stranger who submits them, and what the chain says about it.
 */
import { startDevnet, startXLayer, type XLayer, type XLayerAccount } from '@tallystick/devnet'
import {
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
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { xLayer } from 'viem/chains'
import { vi } from 'vitest'
import { transferCall } from '../evm/exact-evm.ts'
import { startFacilitator } from '../service.ts'
import { openShop, type ShopOptions } from './shop.fixture.ts'

const STRANGER_KEY = `0x${'99'.repeat(32)}` as const

export type XLayerFixture = Awaited<ReturnType<typeof startXLayerFixture>>

/** Sends a payment header to a shop. */
export async function post(url: string, header: string): Promise<Response> {
  return await fetch(url, { method: 'POST', headers: { 'payment-signature': header } })
}

export async function startXLayerFixture() {
  const [devnet, chain] = await Promise.all([startDevnet(), startXLayer()])
  const asset: EvmAsset = { network: X_LAYER_NETWORK, ...chain.stablecoin }
  const account = (name: string): XLayerAccount => findAccount(chain, name)
  const start = async (outcomeMs?: number) => {
    const feePayer = devnet.accounts.find(({ name }) => name === 'facilitator')
    return await startFacilitator({
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
        ...(outcomeMs === undefined ? {} : { outcomeMs }),
      },
    })
  }
  const facilitator = await start()
  /** Gives the chain little time, for blocks that do not come. */
  const impatient = await start(300)
  const closing: (() => Promise<void>)[] = []
  const cent = evmRequirement({ asset, amount: 10_000n, payTo: account('operator').address })
  const client = new HTTPFacilitatorClient({ url: facilitator.url })
  return {
    ...createChainTools(chain, asset),
    chain,
    asset,
    account,
    operator: () => account('operator').address,
    facilitator,
    impatient,
    settle: (payload: PaymentPayload, requirement: PaymentRequirements) =>
      client.settle(payload, requirement),
    /** A payment of a cent, as a facilitator gets it. */
    order: (payer: XLayerAccount) => makeOrder(cent as PaymentRequirements, payer),
    official: (payer: XLayerAccount, signer?: EvmSigner) =>
      officialClient(asset, { payer, signer }),
    /** A route behind our gate, on a plain server. */
    async openShop(options: Pick<ShopOptions, 'beforeSettle'> = {}) {
      const ledger = createJsonRpcLedger({ url: chain.rpcUrl })
      const scheme = createExactEvmScheme({ assets: [asset], ledger })
      const { url: facilitatorUrl } = facilitator
      const { close, ...shop } = await openShop({ ...options, scheme, cent, facilitatorUrl })
      closing.push(close)
      const sign = async (payer: XLayerAccount) =>
        shop.wrap((await makeOrder(cent as PaymentRequirements, payer))[0].payload)
      return { ...shop, sign }
    },
    async stop() {
      for (const close of closing.splice(0)) await close()
      await facilitator.stop()
      await impatient.stop()
      await Promise.all([chain.stop(), devnet.stop()])
    },
  }
}

function findAccount(chain: XLayer, name: string): XLayerAccount {
  const found = chain.accounts.find((account) => account.name === name)
  if (found === undefined) throw new Error(`there is no account ${name}`)
  return found
}

async function makeOrder(
  requirement: PaymentRequirements,
  payer: XLayerAccount,
): Promise<[PaymentPayload, PaymentRequirements]> {
  const client = new ExactEvmClient({ signer: evmSigner(payer) })
  const { payload } = await client.createPaymentPayload(2, requirement)
  return [{ x402Version: 2, accepted: requirement, payload }, requirement]
}

/** The official client with the line that lets it pay in this token. */
function officialClient(
  asset: EvmAsset,
  { payer, signer = evmSigner(payer) }: { payer: XLayerAccount; signer: EvmSigner | undefined },
): x402Client {
  return new x402Client()
    .setSpendControls({
      allowedAssets: [
        { network: X_LAYER_NETWORK, asset: asset.address, maxAmountPerPayment: '200000' },
      ],
    })
    .register('eip155:*', new ExactEvmClient({ signer }))
}

function createChainTools(chain: XLayer, asset: EvmAsset) {
  /** A viem client: a stranger's, or the key's owner's. */
  const viem = (privateKey: `0x${string}` = STRANGER_KEY) =>
    createWalletClient({
      account: privateKeyToAccount(privateKey),
      chain: xLayer,
      transport: http(chain.rpcUrl),
      pollingInterval: 10,
    }).extend(publicActions)
  return {
    viem,
    /** Submits an authorization, as anyone who has read it may. */
    async submitAsStranger(
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
    },
    /** How many transactions the facilitator has sent so far. */
    sentCount: () =>
      viem().getTransactionCount({ address: findAccount(chain, 'facilitator').address }),
    /** Waits until that many transactions wait for a block. */
    async poolHolds(count: number): Promise<void> {
      await vi.waitUntil(async () => {
        const message = { jsonrpc: '2.0', id: 1, method: 'txpool_status', params: [] }
        const headers = { 'content-type': 'application/json' }
        const body = JSON.stringify(message)
        const response = await fetch(chain.rpcUrl, { method: 'POST', headers, body })
        const { result } = (await response.json()) as { result: { pending: string } }
        return Number(result.pending) === count
      }, 120_000)
    },
  }
}
