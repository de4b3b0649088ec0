// What a window costs its seller, from the gas of every transaction that he pays: purchases that are forwarded, and the
// network's calls that renew. Gas, not time: the figures are the same on any machine.
import { accessWindowAbi } from '@tallystick/contracts'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import {
  createPublicClient,
  encodeFunctionData,
  type Hex,
  http,
  numberToHex,
  type PublicClient,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { deployAccessWindow } from '../../../services/access/src/command/deploy.ts'
import { type Aim, type Figure, judgeFigure } from '../figure.ts'
import { TINYBAR_PER_HBAR } from '../payment-network.ts'

/** The default offer of a public ledger. */
const OFFER = {
  priceTinybar: 3n * TINYBAR_PER_HBAR,
  periodSeconds: 3_600,
  callsAllowed: 1_000,
  slotSeconds: 900,
}
const SLOTS = OFFER.periodSeconds / OFFER.slotSeconds
/** Periods of one purchase. */
const PERIODS = 4
const WEIBAR_PER_TINYBAR = 10_000_000_000n
/** Locks of the armed renewals of four slots, several times over. */
const RESERVE_TINYBAR = 1_000n * TINYBAR_PER_HBAR
const OWNER_TINYBAR = 1_000_000n * TINYBAR_PER_HBAR
/** A window, purchase and renewals, of the contract that renewed each agent by itself: a lone purchase, whole cycle, HBAR. */
const BEFORE_SLOTS_HBAR = 1.235

type CostLedger = {
  readonly devnet: Devnet
  readonly client: PublicClient
  readonly owner: DevnetAccount
  readonly contract: Hex
}

async function prepareLedger(devnet: Devnet): Promise<CostLedger> {
  const owner = devnet.accounts.find(({ name }) => name === 'owner')
  if (owner === undefined) throw new Error('devnet has no owner')
  await devnet.controls.setBalanceTinybar(owner.evmAddress, OWNER_TINYBAR)
  const { contract } = await deployAccessWindow({
    rpcUrl: devnet.rpcUrl,
    chainId: devnet.chainId,
    ownerKey: owner.privateKey,
    forwarder: owner.evmAddress,
    recorders: [],
    offer: OFFER,
    reserveTinybar: RESERVE_TINYBAR,
  })
  const client = createPublicClient({ transport: http(devnet.rpcUrl) })
  return { devnet, owner, client, contract }
}

/** Forwards a purchase of so many periods for each agent. Returns what the gas cost, tinybar. Throws where one reverts. */
async function forwardPurchases(
  { devnet, client, owner, contract }: CostLedger,
  { agents, periods }: { readonly agents: readonly Hex[]; readonly periods: number },
): Promise<bigint> {
  const account = privateKeyToAccount(owner.privateKey)
  const address = { abi: accessWindowAbi, address: contract } as const
  const [[gas], gasPrice, firstNonce] = await Promise.all([
    client.readContract({ ...address, functionName: 'armingGas' }),
    client.getGasPrice(),
    client.getTransactionCount({ address: account.address }),
  ])
  let costTinybar = 0n
  for (const [at, agent] of agents.entries()) {
    const paidAtSeconds = BigInt(devnet.nowSeconds())
    const paymentReference = numberToHex(BigInt(firstNonce + at), { size: 32 })
    const purchase = { agent, offerId: 0, paidAtSeconds, calls: 1, paymentReference } as const
    const serializedTransaction = await account.signTransaction({
      type: 'legacy',
      chainId: devnet.chainId,
      nonce: firstNonce + at,
      gasPrice,
      gas,
      to: contract,
      value: OFFER.priceTinybar * BigInt(periods) * WEIBAR_PER_TINYBAR,
      data: encodeFunctionData({ ...address, functionName: 'openPaid', args: [purchase] }),
    })
    const hash = await client.sendRawTransaction({ serializedTransaction })
    const receipt = await client.getTransactionReceipt({ hash })
    if (receipt.status !== 'success') throw new Error(`the purchase for ${agent} reverted`)
    costTinybar += (receipt.gasUsed * receipt.effectiveGasPrice) / WEIBAR_PER_TINYBAR
  }
  return costTinybar
}

let agentsMade = 0

const newAgents = (count: number): readonly Hex[] =>
  Array.from({ length: count }, () => {
    agentsMade += 1
    return numberToHex(0xc057_0000_0000 + agentsMade, { size: 20 })
  })

/** Moves to the first second of a slot: a purchase made there and one made almost `slotSeconds` later share their renewals. */
async function enterSlot(ledger: CostLedger): Promise<void> {
  const { devnet, client, contract } = ledger
  const [probe] = newAgents(1)
  if (probe === undefined) throw new Error('unreachable')
  await forwardPurchases(ledger, { agents: [probe], periods: 1 })
  const { expiresAt } = await client.readContract({
    abi: accessWindowAbi,
    address: contract,
    functionName: 'windowOf',
    args: [probe, BigInt(devnet.nowSeconds())],
  })
  // Block time trails by two seconds.
  const seconds = Number(expiresAt) - OFFER.periodSeconds - devnet.nowSeconds() + 3
  await devnet.controls.advanceSeconds(Math.max(0, seconds))
}

/** Cost of one window when so many agents buy at once in each of these slots, HBAR. */
async function windowCost(ledger: CostLedger, agentsInSlots: readonly number[]): Promise<number> {
  const { devnet, contract } = ledger
  await enterSlot(ledger)
  const before = devnet.executions().length
  let costTinybar = 0n
  for (const [at, count] of agentsInSlots.entries()) {
    if (at > 0) await devnet.controls.advanceSeconds(OFFER.slotSeconds)
    costTinybar += await forwardPurchases(ledger, { agents: newAgents(count), periods: PERIODS })
  }
  await devnet.controls.advanceSeconds((PERIODS + 1) * OFFER.periodSeconds)
  const calls = devnet
    .executions()
    .slice(before)
    .filter(({ payer }) => payer === contract.toLowerCase())
  const slots = agentsInSlots.filter((count) => count > 0).length
  if (calls.length !== slots * (PERIODS - 1) || calls.some(({ status }) => status !== 22))
    throw new Error(`${calls.length} renewals came for ${slots} slots`)
  const gasPriceTinybar = (await ledger.client.getGasPrice()) / WEIBAR_PER_TINYBAR
  for (const { gasUsed } of calls) costTinybar += gasUsed * gasPriceTinybar
  const agents = agentsInSlots.reduce((sum, count) => sum + count, 0)
  return Number(costTinybar) / Number(TINYBAR_PER_HBAR) / (agents * PERIODS)
}

/** So many agents, a quarter in each slot. */
const overSlots = (agents: number): readonly number[] =>
  Array.from({ length: SLOTS }, (_, at) => Math.floor((agents + SLOTS - 1 - at) / SLOTS))

const atMost = (value: number): Aim => ({ kind: 'at-most', value })

/** What a window costs with few and many agents. */
export async function measureAccessCosts(): Promise<readonly Figure[]> {
  const devnet = await startDevnet()
  try {
    const ledger = await prepareLedger(devnet)
    const none: Aim = { kind: 'none' }
    const rows: readonly (readonly [string, readonly number[], Aim])[] = [
      ['1 agent', [1], atMost(1.33)],
      ['5 agents in one slot', [5], none],
      ['20 agents in one slot', [20], atMost(0.13)],
      ['100 agents in one slot', [100], none],
      ['1,000 agents in one slot', [1_000], atMost(0.07)],
      ['5 agents over four slots', overSlots(5), none],
      ['20 agents over four slots', overSlots(20), atMost(0.38)],
      ['100 agents over four slots', overSlots(100), none],
      ['1,000 agents over four slots', overSlots(1_000), none],
    ]
    const figures: Figure[] = []
    for (const [name, agents, aim] of rows)
      figures.push(
        judgeFigure({
          name: `cost of a window, ${name}`,
          value: await windowCost(ledger, agents),
          unit: 'HBAR',
          baseline: { name: 'each agent renewed by itself', value: BEFORE_SLOTS_HBAR },
          aim,
        }),
      )
    return figures
  } finally {
    await devnet.stop()
  }
}
