// What a window costs its seller, from the gas of every transaction that he pays: purchases that are forwarded, and the
// network's calls that renew. Gas, not time: the figures are the same on any machine.
import { setTimeout as pause } from 'node:timers/promises'
import { accessWindowAbi } from '@tallystick/contracts'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import {
  createPublicClient,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  numberToHex,
  type PublicClient,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { deployAccessWindow } from '../../../services/access/src/command/deploy.ts'
import { type Aim, type Figure, judgeFigure } from '../figure.ts'
import { type InNetwork, likeTestnet, promptly } from '../ledger-control.ts'
import { TINYBAR_PER_HBAR } from '../payment-network.ts'
import type { FigureValues } from '../suite-result.ts'

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
/** Calls of one JSON-RPC batch. */
const BATCH_MAX = 100
/** Between two seconds of a send that waits. */
const LEAP_MS = 50
/** Beyond what reads and receipts lag. */
const READ_LAG_SECONDS = 10
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
  const raws: Hex[] = []
  for (const [at, agent] of agents.entries()) {
    const paidAtSeconds = BigInt(devnet.nowSeconds())
    const paymentReference = numberToHex(BigInt(firstNonce + at), { size: 32 })
    const purchase = { agent, offerId: 0, paidAtSeconds, calls: 1, paymentReference } as const
    const raw = await account.signTransaction({
      type: 'legacy',
      chainId: devnet.chainId,
      nonce: firstNonce + at,
      gasPrice,
      gas,
      to: contract,
      value: OFFER.priceTinybar * BigInt(periods) * WEIBAR_PER_TINYBAR,
      data: encodeFunctionData({ ...address, functionName: 'openPaid', args: [purchase] }),
    })
    raws.push(raw)
  }
  await sendAll(devnet, raws)
  let costTinybar = 0n
  for (const raw of raws) {
    const receipt = await client.getTransactionReceipt({ hash: keccak256(raw) })
    if (receipt.status !== 'success') throw new Error(`the purchase ${keccak256(raw)} reverted`)
    costTinybar += (receipt.gasUsed * receipt.effectiveGasPrice) / WEIBAR_PER_TINYBAR
  }
  return costTinybar
}

/** Sends them, as many at once as a relay takes; ledger time runs ahead while they wait, and until they show. */
async function sendAll(devnet: Devnet, raws: readonly Hex[]): Promise<void> {
  let left = raws
  while (left.length > 0) {
    const early = await sendBatch(devnet, left.slice(0, BATCH_MAX))
    left = [...early, ...left.slice(BATCH_MAX)]
  }
  await devnet.controls.advanceSeconds(READ_LAG_SECONDS)
}

/** Returns those that consensus met before the one ahead of them. Throws for any other refusal. */
async function sendBatch(
  { controls, rpcUrl }: Devnet,
  raws: readonly Hex[],
): Promise<readonly Hex[]> {
  const calls = raws.map((raw, id) => {
    return { jsonrpc: '2.0', id, method: 'eth_sendRawTransaction', params: [raw] }
  })
  const over = new AbortController()
  const answered = fetch(rpcUrl, { method: 'POST', body: JSON.stringify(calls) })
    .then((answer) => answer.json() as Promise<readonly { error?: { message: string } }[]>)
    .finally(() => over.abort())
  for (;;) {
    await pause(LEAP_MS, undefined, { signal: over.signal }).catch(() => undefined)
    if (over.signal.aborted) break
    await controls.advanceSeconds(1)
  }
  const errors = (await answered).map(({ error }) => error?.message)
  const other = errors.find((message) => message?.startsWith('Nonce too high') === false)
  if (other !== undefined) throw new Error(other)
  return raws.filter((_, at) => errors[at] !== undefined)
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

const none: Aim = { kind: 'none' }

/** Agents in each slot. */
const ROWS: readonly (readonly [string, readonly number[], Aim])[] = [
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

/** What a window costs with few and many agents, in a network of that kind. */
async function measureCosts(inNetwork: InNetwork): Promise<readonly Figure[]> {
  const devnet = await startDevnet()
  try {
    const ledger = await prepareLedger(devnet)
    return await inNetwork(devnet.rpcUrl, async () => {
      await devnet.controls.advanceSeconds(READ_LAG_SECONDS)
      const figures: Figure[] = []
      for (const [name, agents, aim] of ROWS)
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
    })
  } finally {
    await devnet.stop()
  }
}

export const measureAccessCosts = (): Promise<readonly Figure[]> => measureCosts(promptly)

export const accessCostsLikeTestnet = async (): Promise<FigureValues> =>
  Object.fromEntries((await measureCosts(likeTestnet)).map(({ name, value }) => [name, value]))
