// How late renewals of slots come, and how far windows drift after a thousand of them. The network makes the renewals; beside it,
// on the same ledger, a conventional keeper looks every second and sends them itself.
import { accessWindowAbi } from '@tallystick/contracts'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import { createPublicClient, encodeFunctionData, type Hex, http, type PublicClient } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { deployAccessWindow } from '../../../services/access/src/command/deploy.ts'
import { type Figure, judgeFigure } from '../figure.ts'
import { type InNetwork, likeTestnet, promptly } from '../ledger-control.ts'
import { openWindows } from '../open-windows.ts'
import { TINYBAR_PER_HBAR } from '../payment-network.ts'
import { median, quantile } from '../quantile.ts'
import type { FigureValues } from '../suite-result.ts'

const RENEWALS = 50
const AGENTS = 10
const PERIODS = RENEWALS / AGENTS
/** More seconds than agents, so that each has a slot, and a call, of its own. */
const PERIOD_SECONDS = 12
/** Between two openings, milliseconds: in different seconds, and all of them within a period. */
const OPENING_MS = 1_050
const DRIFT_PERIODS = 1_000
const DRIFT_PERIOD_SECONDS = 3_600
const PRICE_TINYBAR = 3n * TINYBAR_PER_HBAR
/** Several times the cost of arming a thousand renewals. */
const RESERVE_TINYBAR = 5_000n * TINYBAR_PER_HBAR
const KEEPER_POLL_MS = 1_000
const KEEPER_GAS = 2_500_000n
const RECEIPT_POLL_MS = 10
/** Longest wait for the last renewal beyond its second, milliseconds. */
const PATIENCE_MS = 20_000
/** The longest that the keeper may take; undisturbed it takes a minute. */
const KEEPER_LIMIT_MS = 150_000

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

const NAMES = {
  late: (name: string): string => `lateness of ${RENEWALS} renewals, ${name}`,
  drift: `drift over ${DRIFT_PERIODS} periods`,
}

type RenewalLedger = {
  readonly devnet: Devnet
  readonly client: PublicClient
  readonly owner: DevnetAccount
  readonly keeper: PrivateKeyAccount
}

async function prepareLedger(devnet: Devnet): Promise<RenewalLedger> {
  const owner = devnet.accounts.find(({ name }) => name === 'owner')
  if (owner === undefined) throw new Error('devnet has no owner')
  const balanceTinybar = 1_000_000n * TINYBAR_PER_HBAR
  await devnet.controls.setBalanceTinybar(owner.evmAddress, balanceTinybar)
  const { privateKey } = await devnet.createAccount({ name: 'keeper', balanceTinybar })
  const transport = http(devnet.rpcUrl)
  return {
    devnet,
    owner,
    client: createPublicClient({ transport, pollingInterval: RECEIPT_POLL_MS }),
    keeper: privateKeyToAccount(privateKey),
  }
}

/** A contract with open windows for these agents, each paid for its first period and `periods` renewals. */
async function openContract(
  { devnet, owner }: RenewalLedger,
  terms: {
    readonly agents: readonly Hex[]
    readonly periods: number
    readonly periodSeconds: number
    readonly reserveTinybar: bigint
  },
): Promise<Hex> {
  const { agents, periods, periodSeconds, reserveTinybar } = terms
  const { contract } = await deployAccessWindow({
    rpcUrl: devnet.rpcUrl,
    chainId: devnet.chainId,
    ownerKey: owner.privateKey,
    forwarder: owner.evmAddress,
    recorders: [],
    offer: { priceTinybar: PRICE_TINYBAR, periodSeconds, callsAllowed: 10, slotSeconds: 1 },
    reserveTinybar,
  })
  const valueTinybar = PRICE_TINYBAR * BigInt(periods + 1)
  const payerKey = owner.privateKey
  for (const agent of agents) {
    await pause(OPENING_MS)
    await openWindows({
      ledgerUrl: devnet.rpcUrl,
      payerKey,
      contract,
      agents: [agent],
      valueTinybar,
    })
  }
  return contract
}

const readWindow = ({ client, devnet }: RenewalLedger, contract: Hex, agent: Hex) =>
  client.readContract({
    address: contract,
    abi: accessWindowAbi,
    functionName: 'windowOf',
    args: [agent, BigInt(devnet.nowSeconds())],
  })

const addresses = (first: number): readonly Hex[] =>
  Array.from(
    { length: AGENTS },
    (_, index): Hex => `0x${(first + index).toString(16).padStart(40, '0')}`,
  )

/** Seconds from each renewal's due second to its execution by the network. */
async function networkLateness(
  ledger: RenewalLedger,
  inNetwork: InNetwork,
): Promise<readonly number[]> {
  const terms = { periods: PERIODS, periodSeconds: PERIOD_SECONDS, reserveTinybar: RESERVE_TINYBAR }
  const contract = await openContract(ledger, { ...terms, agents: addresses(0xb00) })
  return await inNetwork(ledger.devnet.rpcUrl, () => untilRenewed(ledger.devnet, contract))
}

async function untilRenewed(devnet: Devnet, contract: Hex): Promise<readonly number[]> {
  const endMs = performance.now() + (PERIODS + 1) * PERIOD_SECONDS * 1000 + PATIENCE_MS
  for (;;) {
    const executed = devnet.executions().filter(({ payer }) => payer === contract.toLowerCase())
    if (executed.some(({ status }) => status !== 22)) throw new Error('a renewal did not succeed')
    if (executed.length >= RENEWALS)
      return executed.map(({ executedAtMs, expirySecond }) => executedAtMs / 1000 - expirySecond)
    if (performance.now() > endMs) throw new Error(`only ${executed.length} renewals came`)
    await pause(100)
  }
}

/** Sends one renewal as a keeper does, and waits for its receipt. False if its block's time was before the due second. */
async function sendRenewal(
  { client, devnet, keeper }: RenewalLedger,
  call: { readonly contract: Hex; readonly slotId: bigint; readonly second: bigint },
): Promise<boolean> {
  const serializedTransaction = await keeper.signTransaction({
    type: 'legacy',
    chainId: devnet.chainId,
    nonce: await client.getTransactionCount({ address: keeper.address }),
    gasPrice: (await client.getGasPrice()) * 2n,
    gas: KEEPER_GAS,
    to: call.contract,
    data: encodeFunctionData({
      abi: accessWindowAbi,
      functionName: 'renew',
      args: [call.slotId, call.second],
    }),
  })
  const hash = await client.sendRawTransaction({ serializedTransaction })
  const { status } = await client.waitForTransactionReceipt({ hash })
  return status === 'success'
}

/** The same for a keeper that looks every second, on a contract without a reserve, which arms nothing. */
async function keeperLateness(ledger: RenewalLedger): Promise<readonly number[]> {
  const agents = addresses(0xc00)
  // A keeper that falls behind renews several periods at once, so those are paid for too.
  const terms = { periods: PERIODS * 4, periodSeconds: PERIOD_SECONDS, reserveTinybar: 0n }
  const contract = await openContract(ledger, { ...terms, agents })
  const slots = new Map<bigint, { readonly agent: Hex; readonly due: number }>()
  for (const agent of agents) {
    const { slotId, expiresAt } = await readWindow(ledger, contract, agent)
    slots.set(slotId, { agent, due: Number(expiresAt) })
  }
  const lateness: number[] = []
  const endMs = performance.now() + KEEPER_LIMIT_MS
  while (lateness.length < RENEWALS) {
    if (performance.now() > endMs) throw new Error(`the keeper made ${lateness.length} renewals`)
    await pause(KEEPER_POLL_MS)
    for (const [slotId, { agent, due }] of slots) {
      if (ledger.devnet.nowSeconds() < due || lateness.length >= RENEWALS) continue
      // A block's time lies up to two seconds back: a keeper that was too early looks again.
      if (!(await sendRenewal(ledger, { contract, slotId, second: BigInt(due) }))) continue
      lateness.push(ledger.devnet.clock.unixMs() / 1000 - due)
      const { expiresAt } = await readWindow(ledger, contract, agent)
      slots.set(slotId, { agent, due: Number(expiresAt) })
    }
  }
  return lateness
}

/** Seconds between a window's actual and ideal end after this many renewals by the network. */
async function measureDrift(ledger: RenewalLedger, inNetwork: InNetwork): Promise<number> {
  const [agent] = addresses(0xd00)
  if (agent === undefined) throw new Error('unreachable')
  const contract = await openContract(ledger, {
    agents: [agent],
    periods: DRIFT_PERIODS,
    periodSeconds: DRIFT_PERIOD_SECONDS,
    reserveTinybar: RESERVE_TINYBAR,
  })
  const first = await readWindow(ledger, contract, agent)
  const { controls, rpcUrl } = ledger.devnet
  await inNetwork(rpcUrl, () => controls.advanceSeconds(DRIFT_PERIODS * DRIFT_PERIOD_SECONDS))
  const executed = ledger.devnet
    .executions()
    .filter(({ payer, status }) => payer === contract.toLowerCase() && status === 22)
  if (executed.length !== DRIFT_PERIODS) throw new Error(`${executed.length} renewals came`)
  const last = await readWindow(ledger, contract, agent)
  const shouldEndAt = Number(first.expiresAt) + DRIFT_PERIODS * DRIFT_PERIOD_SECONDS
  return Math.abs(Number(last.expiresAt) - shouldEndAt)
}

/** Lateness of 50 renewals, and drift over 1,000. */
export async function measureAccessRenewal(): Promise<readonly Figure[]> {
  const devnet = await startDevnet()
  try {
    const ledger = await prepareLedger(devnet)
    const network = await networkLateness(ledger, promptly)
    const keeper = await keeperLateness(ledger)
    const driftSeconds = await measureDrift(ledger, promptly)
    const late = (name: string, pick: (lateness: readonly number[]) => number): Figure =>
      judgeFigure({
        name: NAMES.late(name),
        value: pick(network),
        unit: 's',
        baseline: { name: 'a keeper that looks every second', value: pick(keeper) },
        aim: { kind: 'at-most', value: 0.3 },
      })
    return [
      late('p50', median),
      late('the latest', (lateness) => quantile(lateness, 1)),
      judgeFigure({
        name: NAMES.drift,
        value: driftSeconds,
        unit: 's',
        baseline: {
          name: 'that lateness added up, as where the next period begins at the renewal',
          value: median(network) * DRIFT_PERIODS,
        },
        aim: { kind: 'at-most', value: 0 },
      }),
    ]
  } finally {
    await devnet.stop()
  }
}

/** The network's renewals alone, which no relay takes part in. */
export async function accessRenewalLikeTestnet(): Promise<FigureValues> {
  const devnet = await startDevnet()
  try {
    const ledger = await prepareLedger(devnet)
    const lateness = await networkLateness(ledger, likeTestnet)
    return {
      [NAMES.late('p50')]: median(lateness),
      [NAMES.late('the latest')]: quantile(lateness, 1),
      [NAMES.drift]: await measureDrift(ledger, likeTestnet),
    }
  } finally {
    await devnet.stop()
  }
}
