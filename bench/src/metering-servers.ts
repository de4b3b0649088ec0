// The service and the naive way of metering over one contract, each with its own recorder key.
import { openWindows } from './open-windows.ts'
import {
  deployAccess,
  HEDERA_CHAIN_ID,
  inPaymentNetwork,
  type PaymentNetwork,
  startAccess,
  TINYBAR_PER_HBAR,
} from './payment-network.ts'
import type { NaivePlan } from './server/access-naive.ts'
import { ServerProcess } from './server-process.ts'

type Hex = `0x${string}`

/** The service, and the naive way beside it. */
export type Servers = {
  readonly access: ServerProcess
  readonly naive: ServerProcess
  readonly ledgerUrl: string
}

/** Starts both over one contract with open windows and room for every call. */
async function startBoth(network: PaymentNetwork, agents: readonly Hex[]): Promise<Servers> {
  const { facts } = network
  const [second] = facts.hederaPayers
  if (second === undefined) throw new Error('the network has no payers')
  const { contract } = await deployAccess(network, {
    offer: { periodSeconds: 3_600, callsAllowed: 1_000_000 },
    recorders: [facts.recorder.evmAddress, second.evmAddress],
  })
  const { ledgerUrl } = facts
  await openWindows({
    ledgerUrl,
    contract,
    agents,
    payerKey: facts.owner.privateKey,
    valueTinybar: 12n * TINYBAR_PER_HBAR,
  })
  const recorderKey = second.privateKey
  const plan: NaivePlan = {
    ledgerUrl,
    contract,
    recorderKey,
    chainId: HEDERA_CHAIN_ID,
  }
  return {
    ledgerUrl,
    access: await startAccess(network, contract),
    naive: await ServerProcess.start('access-naive.ts', [JSON.stringify(plan)]),
  }
}

/** Runs `work` on both, over one contract where these agents have open windows. */
export async function withBoth<Result>(
  agents: readonly Hex[],
  work: (servers: Servers) => Promise<Result>,
): Promise<Result> {
  return inPaymentNetwork(1, async (network) => {
    const servers = await startBoth(network, agents)
    try {
      return await work(servers)
    } finally {
      await servers.access.stop()
      await servers.naive.stop()
    }
  })
}
