// The payment suites' network, and the servers they measure on it.
import { type Deployment, deployAccessWindow } from '../../services/access/src/command/deploy.ts'
import type { PaidServerPlan, PaymentNetworkFacts } from './server/payment-network-facts.ts'
import { ServerProcess } from './server-process.ts'

export const TINYBAR_PER_HBAR = 100_000_000n
export const HEDERA_CHAIN_ID = 296

/** A running network; `server` is its process. */
export type PaymentNetwork = { readonly facts: PaymentNetworkFacts; readonly server: ServerProcess }

/** Runs `work` in a network with this many payers, then ends it. */
export async function inPaymentNetwork<Result>(
  payers: number,
  work: (network: PaymentNetwork) => Promise<Result>,
): Promise<Result> {
  const server = await ServerProcess.start('payment-network-server.ts', [String(payers)])
  try {
    return await work({ server, facts: JSON.parse(server.details) as PaymentNetworkFacts })
  } finally {
    await server.stop()
  }
}

/** Starts a server with one plain paid route. */
export function startPaidServer(
  { facts }: { readonly facts: Omit<PaidServerPlan, 'flow'> },
  kind: 'ours' | 'express' | 'express-upfront',
): Promise<ServerProcess> {
  const { evmPayTo, evmUrl, facilitatorUrl, stablecoin } = facts
  const plan: PaidServerPlan = {
    evmPayTo,
    evmUrl,
    facilitatorUrl,
    stablecoin,
    flow: kind === 'express-upfront' ? 'upfront' : 'authorization',
  }
  const file = kind === 'ours' ? 'x402-fastify.ts' : 'x402-express.ts'
  return ServerProcess.start(file, [JSON.stringify(plan)])
}

type AccessOffer = { readonly periodSeconds: number; readonly callsAllowed: number }

/** Deploys an access contract to the network's ledger. `recorders` are the addresses that may count calls. */
export function deployAccess(
  { facts }: PaymentNetwork,
  setup: { readonly offer: AccessOffer; readonly recorders: readonly `0x${string}`[] },
): Promise<Deployment> {
  return deployAccessWindow({
    rpcUrl: facts.ledgerUrl,
    chainId: HEDERA_CHAIN_ID,
    ownerKey: facts.owner.privateKey,
    forwarder: facts.payTo.evmAddress,
    recorders: setup.recorders,
    offer: { priceTinybar: 3n * TINYBAR_PER_HBAR, slotSeconds: 1, ...setup.offer },
    reserveTinybar: 500n * TINYBAR_PER_HBAR,
  })
}

/** Deploys one that sells an hour of 1,000 calls, counted by the network's recorder; returns its address. */
export async function deployOffer(network: PaymentNetwork): Promise<string> {
  const { contract } = await deployAccess(network, {
    offer: { periodSeconds: 3_600, callsAllowed: 1_000 },
    recorders: [network.facts.recorder.evmAddress],
  })
  return contract
}

/** Starts the access service over that contract, and waits until it sells. */
export async function startAccess(
  { facts }: PaymentNetwork,
  contract: string,
): Promise<ServerProcess> {
  const environment = {
    NETWORK: 'hedera:testnet',
    LEDGER_RPC_URL: facts.ledgerUrl,
    LEDGER_CHAIN_ID: String(HEDERA_CHAIN_ID),
    MIRROR_URL: facts.mirrorUrl,
    FACILITATOR_URL: facts.facilitatorUrl,
    ACCESS_CONTRACT: contract,
    PAY_TO: facts.payTo.accountId,
    PAY_TO_KEY: facts.payTo.privateKey,
    RECORDER_KEY: facts.recorder.privateKey,
    // One machine calls for a few agents as fast as it can.
    AGENT_CALLS_PER_SECOND: '0',
    ADDRESS_CALLS_PER_SECOND: '0',
  }
  const server = await ServerProcess.start('access-server.ts', [JSON.stringify(environment)])
  await untilSelling(server)
  return server
}

/** Time for the service to read the payments made before its start, which it does before it requests any. */
const SELLING_LIMIT_MS = 30_000
const SELLING_POLL_MS = 100

async function untilSelling(server: ServerProcess): Promise<void> {
  const url = new URL(accessPath(`0x${'11'.repeat(20)}`), server.url)
  for (const endMs = performance.now() + SELLING_LIMIT_MS; ; ) {
    const { status } = await fetch(url)
    if (status === 402) return
    if (performance.now() > endMs) throw new Error(`the access service answers ${status}`)
    await new Promise((resolve) => setTimeout(resolve, SELLING_POLL_MS))
  }
}

export const accessPath = (agent: string): string => `/api/svc/access?agent=${agent}`
