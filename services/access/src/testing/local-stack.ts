/**
 * The service on a real local ledger: devnet, the deployed contract and the facilitator, all in the test's process, with
 * devnet's clock. One stack serves a whole test file.
 */

import { accessWindowAbi } from '@tallystick/contracts'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import { parseConsensusNodes, startFacilitator } from '@tallystick/facilitator'
import {
  type Clock,
  type Environment,
  requireConfig,
  startListening,
  systemClock,
} from '@tallystick/service-kit'
import { ExactHederaClient, hederaSigner, TINYBAR_PER_HBAR } from '@tallystick/x402/hedera'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createPublicClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { vi } from 'vitest'
import { deployAccessWindow } from '../command/deploy.ts'
import { accessConfigSchema } from '../config.ts'
import { type AccessService, createAccessService } from '../service.ts'
import type { AccessGranted } from '../wire/access-answers.ts'

export type LocalStack = {
  readonly devnet: Devnet
  readonly contract: `0x${string}`
  readonly owner: DevnetAccount
  readonly payTo: DevnetAccount
  readonly recorder: DevnetAccount
  readonly facilitator: Awaited<ReturnType<typeof startFacilitator>>
  agent(name: string): Promise<DevnetAccount>
  /** Starts a process of the service, with other clocks if given; it ends with the stack at the latest. */
  startService(change?: Environment, clocks?: Partial<ServiceClocks>): Promise<RunningService>
  stop(): Promise<void>
}

export type RunningService = AccessService & {
  readonly baseUrl: string
  readonly stop: () => Promise<void>
}

/** Any answer of `/access`. */
export type AnswerBody = AccessGranted & {
  readonly error?: string
  readonly accepts?: readonly { readonly amount: string; readonly payTo: string }[]
}

export type RealOffer = {
  readonly periodSeconds: number
  readonly callsAllowed: number
  /** 1 by default: a first window is as long as its period. */
  readonly slotSeconds?: number
}

type LocalStackSettings = {
  /** Payments are stamped and judged by ledger time, so that they travel in time too; otherwise by wall time, as official
   * clients stamp them. */
  readonly isPaymentTimeTheLedgers?: boolean
  /** First gas reserve of the contract, HBAR. */
  readonly reserveHbar?: bigint
}

export async function startLocalStack(
  offer: RealOffer,
  settings: LocalStackSettings = {},
): Promise<LocalStack> {
  const { isPaymentTimeTheLedgers = false, reserveHbar = 500n } = settings
  let paymentClock: Clock = systemClock
  const devnet = await startDevnet({ wallClock: { unixMs: () => paymentClock.unixMs() } })
  if (isPaymentTimeTheLedgers) paymentClock = devnet.clock
  const account = (name: string): DevnetAccount => {
    const found = devnet.accounts.find((each) => each.name === name)
    if (found === undefined) throw new Error(`devnet has no account ${name}`)
    return found
  }
  const [owner, payTo, recorder, feePayer] = ['owner', 'operator', 'recorder', 'facilitator'].map(
    account,
  )
  if (!owner || !payTo || !recorder || !feePayer) throw new Error('unreachable')
  const { contract } = await deployAccessWindow({
    rpcUrl: devnet.rpcUrl,
    chainId: devnet.chainId,
    ownerKey: owner.privateKey,
    forwarder: payTo.evmAddress,
    recorders: [recorder.evmAddress],
    offer: { priceTinybar: 3n * TINYBAR_PER_HBAR, slotSeconds: 1, ...offer },
    reserveTinybar: reserveHbar * TINYBAR_PER_HBAR,
  })
  const nodes = parseConsensusNodes(`${devnet.consensus.address}=${devnet.consensus.nodeAccountId}`)
  const facilitator = await startFacilitator({
    network: 'hedera:testnet',
    consensusNodes: nodes ?? [],
    mirrorUrl: devnet.mirrorUrl,
    feePayer: feePayer.accountId,
    feePayerKey: feePayer.privateKey,
    clock: paymentClock,
  })
  const services = new Set<RunningService>()
  const environment = {
    NETWORK: 'hedera:testnet',
    LEDGER_RPC_URL: devnet.rpcUrl,
    LEDGER_CHAIN_ID: String(devnet.chainId),
    MIRROR_URL: devnet.mirrorUrl,
    FACILITATOR_URL: facilitator.url,
    ACCESS_CONTRACT: contract,
    PAY_TO: payTo.accountId,
    PAY_TO_KEY: payTo.privateKey,
    RECORDER_KEY: recorder.privateKey,
  }
  return {
    devnet,
    contract,
    owner,
    payTo,
    recorder,
    facilitator,
    agent: (name) => devnet.createAccount({ name, balanceTinybar: 1_000n * TINYBAR_PER_HBAR }),
    async startService(change = {}, clocks = {}) {
      const service = await startAccess(
        { clock: devnet.clock, paymentClock, ...clocks },
        { ...environment, ...change },
      )
      services.add(service)
      return service
    },
    async stop() {
      for (const service of services) await service.stop()
      await facilitator.stop()
      await devnet.stop()
    },
  }
}

type ServiceClocks = { readonly clock: Clock; readonly paymentClock: Clock }

async function startAccess(
  clocks: ServiceClocks,
  environment: Environment,
): Promise<RunningService> {
  const config = requireConfig(accessConfigSchema, environment)
  const service = await createAccessService({ config, ...clocks })
  const { url: baseUrl, stop } = await startListening(service)
  return { ...service, baseUrl, stop }
}

/** The official client, which signs a payment at the first 402. */
export function payingFetch(
  agent: DevnetAccount,
  memo?: string,
  through: typeof fetch = fetch,
): typeof fetch {
  const signer = hederaSigner(agent)
  const scheme = new ExactHederaClient({ signer, ...(memo === undefined ? {} : { memo }) })
  const client = new x402Client().register('hedera:*', scheme)
  client.setSpendControls({
    allowedAssets: [
      {
        network: 'hedera:testnet',
        asset: '0.0.0',
        maxAmountPerPayment: String(100n * TINYBAR_PER_HBAR),
      },
    ],
  })
  return wrapFetchWithPayment(through, client)
}

/** Polls until `isDone`, for what happens in the background. */
export async function until(isDone: () => Promise<boolean>): Promise<void> {
  await vi.waitUntil(isDone, { timeout: 300_000, interval: 50 })
}

/** Ledger time between two looks, seconds: five seconds, the shortest limit of a service's reads, are twenty looks. */
const SECONDS_PER_LOOK = 0.25

/**
 * Polls until `isDone`, for what happens as time passes, and lets ledger time pass with each look. A look asks the service:
 * so ledger time goes no faster than requests do on this machine, and a leap never ends those that are under way.
 */
export async function untilInTime(
  { devnet }: Pick<LocalStack, 'devnet'>,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const look = async (): Promise<boolean> => {
    if (await isDone()) return true
    await devnet.controls.advanceSeconds(SECONDS_PER_LOOK)
    return false
  }
  await vi.waitUntil(look, { timeout: 300_000, interval: 20 })
}

export type OwnerCall = {
  readonly functionName: 'setOffer' | 'pauseSales' | 'setRecorder'
  readonly args: readonly unknown[]
}

/** Makes a call as the contract's owner and returns once it has its receipt. Throws if it was reverted. */
export async function asOwner(
  { devnet, owner, contract }: Pick<LocalStack, 'devnet' | 'owner' | 'contract'>,
  { functionName, args }: OwnerCall,
): Promise<void> {
  const transport = http(devnet.rpcUrl)
  const client = createPublicClient({ transport })
  const wallet = createWalletClient({ account: privateKeyToAccount(owner.privateKey), transport })
  const hash = await wallet.writeContract({
    address: contract,
    abi: accessWindowAbi,
    functionName,
    args: args as never,
    chain: null,
    gas: 200_000n,
    gasPrice: await client.getGasPrice(),
    type: 'legacy',
  })
  const receipt = await client.waitForTransactionReceipt({ hash, pollingInterval: 20 })
  if (receipt.status !== 'success') throw new Error(`${functionName} reverted`)
}

/** The answer to a call. */
type Answer = { readonly status: number; readonly body: AnswerBody }

type ReadyCheck = {
  readonly kind: string
  readonly reason?: string
  readonly details?: { readonly sentence?: string }
}

export async function readAnswer(answer: Response): Promise<Answer> {
  return { status: answer.status, body: (await answer.json()) as AnswerBody }
}

/** How a test calls one process of the service. */
export function createServiceCalls({ baseUrl }: Pick<RunningService, 'baseUrl'>) {
  const accessUrl = (agent: string) => `${baseUrl}/api/svc/access?agent=${agent}`
  return {
    accessUrl,
    call: async (agent: string): Promise<Answer> => readAnswer(await fetch(accessUrl(agent))),
    /** With a payment that was signed before. */
    send: async (agent: string, header: string): Promise<Answer> =>
      readAnswer(await fetch(accessUrl(agent), { headers: { 'payment-signature': header } })),
    /** Calls with the official client, which pays at the first 402. */
    pay: async (agent: DevnetAccount): Promise<Answer> =>
      readAnswer(await payingFetch(agent)(accessUrl(agent.evmAddress))),
    /** Signs a payment for a challenge and returns its header without sending it. */
    async signedPayment(agent: DevnetAccount, memo?: string): Promise<string> {
      let header = ''
      const recording: typeof fetch = async (input, init) => {
        const request = new Request(input, init)
        header = request.headers.get('payment-signature') ?? header
        return header === '' ? fetch(request) : new Response('{}', { status: 200 })
      }
      await payingFetch(agent, memo, recording)(accessUrl(agent.evmAddress))
      return header
    },
    isReady: async (): Promise<boolean> => (await fetch(`${baseUrl}/ready`)).status === 200,
    async readyChecks(): Promise<Readonly<Record<string, ReadyCheck>>> {
      const answer = await fetch(`${baseUrl}/ready`)
      return ((await answer.json()) as { checks: Record<string, ReadyCheck> }).checks
    },
  }
}

export type ServiceCalls = ReturnType<typeof createServiceCalls>
