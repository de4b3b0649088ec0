/**
 * Costs and earnings of an offer for its seller: pure arithmetic over the gas of whole transactions. Costs are kept apart by
 * who pays: payTo forwards purchases, the contract's reserve pays renewals, the recorder counts calls. Not counted are
 * deployment, the owner's own calls and the facilitator's fee of 0.01 US cent a payment.
 */
import { accessWindowRules } from '@tallystick/contracts'
import { TINYBAR_PER_HBAR } from '@tallystick/x402/hedera'
import { countEntries } from '../metering/usage-window.ts'

export type OfferTerms = {
  /** Price of one period, tinybar. */
  readonly priceTinybar: bigint
  readonly periodSeconds: number
  readonly callsAllowed: number
  /** Divides the period: windows end at seconds this far apart. */
  readonly slotSeconds: number
}

/** The ledger charges and the seller sells at these terms. */
export type Market = {
  readonly gasPriceTinybar: bigint
  /** Price of one `scheduleCall`, hundredths of a US cent. */
  readonly scheduleCost: number
  /** 1e-8 of a US cent, as the exchange-rate contract gives it. */
  readonly tinycentsPerHbar: bigint
  /** Least revenue of a scheduled call, percent of what it costs; below, it is not armed. */
  readonly armingFloorPercent: number
  readonly periodsPerPurchase: number
}

/**
 * Gas of whole transactions, measured; a test keeps them within 3 % of those in contracts/snapshots. Those that arm
 * include a `scheduleCall` of `scheduleCall` gas, which the network prices in dollars.
 */
export const GAS = {
  scheduleCall: 1_410_000n,
  /** `openPaid` of several periods that arms its slot. */
  openArming: 1_607_211n,
  /** The same in an armed slot whose seconds others share; each second that nobody shares costs a `calendarWord` more. */
  openJoining: 119_461n,
  calendarWord: 17_100n,
  /** `openPaid` of one period: it never arms. */
  openOnePeriod: 104_317n,
  renewalArming: 1_480_663n,
  renewalLast: 58_031n,
  /** One agent's record alone, and in a batch of 50; the second pair is for the first record of a window. */
  record: 32_060n,
  recordBatched: 8_617n,
  recordFirst: 34_306n,
  recordFirstBatched: 10_875n,
} as const

/** Agents in the batch behind the batched figures; no batch is larger. */
const BATCH_AGENTS = 50n

const SECONDS_PER_HOUR = 3_600
/** The contract gives a `scheduleCall` at least this much gas, and its own part of a renewal the second figure. */
const SCHEDULE_GAS_MIN = BigInt(accessWindowRules.scheduleGasMin)
const OWN_GAS = BigInt(accessWindowRules.finishGas + accessWindowRules.renewalGasMax)
/** The contract locks the gas limit of a scheduled call at this many times the gas price. */
const LOCK_FACTOR = BigInt(accessWindowRules.lockSafety)
/** The search for a break-even ends at this many agents: by then each bears a thousandth of a renewal. */
const BREAK_EVEN_AGENTS_MAX = 1_000

/** One hundredth of a US cent. */
const TINYCENTS_PER_SCHEDULE_UNIT = 1_000_000n

/** One window costs, by who pays, and earns this, tinybar. */
type WindowCost = {
  readonly purchaseTinybar: bigint
  readonly renewalTinybar: bigint
  readonly callsTinybar: bigint
  readonly costTinybar: bigint
  /** Price less cost; negative for a loss. */
  readonly profitTinybar: bigint
}

/** Agents with a window, spread evenly over the slots, and the calls that each makes in it, at any pace. */
type Demand = {
  readonly agents: number
  readonly calls: number
  /** Agents that share a recording transaction, 1 to 50. */
  readonly batchedAgents?: number
}

const atLeast = (numerator: bigint, denominator: bigint): bigint =>
  (numerator + denominator - 1n) / denominator

/** Price of a transaction that uses `gas`, tinybar; `arms`: a `scheduleCall` is in it. */
function transactionTinybar(market: Market, gas: bigint, arms = false): bigint {
  if (!arms) return gas * market.gasPriceTinybar
  return (gas - GAS.scheduleCall) * market.gasPriceTinybar + scheduleTinybar(market)
}

function scheduleTinybar(market: Market): bigint {
  const tinycents = BigInt(market.scheduleCost) * TINYCENTS_PER_SCHEDULE_UNIT
  return atLeast(tinycents * TINYBAR_PER_HBAR, market.tinycentsPerHbar)
}

/** Gas limit of a scheduled call, as in the contract's `armingGas()`. */
function scheduledGas(market: Market): bigint {
  const wanted = (scheduleTinybar(market) * 11n) / 10n / market.gasPriceTinybar
  const gas = wanted > SCHEDULE_GAS_MIN ? wanted : SCHEDULE_GAS_MIN
  return (gas * 64n) / 63n + OWN_GAS
}

/** One scheduled call that renews a whole slot and arms its successor, tinybar. */
export const renewalTinybar = (market: Market): bigint =>
  transactionTinybar(market, GAS.renewalArming, true)

/** Computes the gas that a slot's agents cost over one purchase's length, tinybar. */
type SlotCost = { readonly purchases: bigint; readonly renewals: bigint }

/**
 * A lone agent buys again once its last window has closed: its purchase arms, and its last renewal arms nothing. Two or
 * more keep a slot armed for one another: at most one call arms in each period, and each second is a calendar word at most
 * once. A purchase that arms costs a little more than a renewal that does. There is at most one in `periods - 1` periods,
 * or in each period if one agent's revenue does not arm. That bounds every order of purchases.
 */
function slotCost(terms: OfferTerms, market: Market, agents: number): SlotCost {
  const periods = BigInt(market.periodsPerPurchase)
  const count = BigInt(agents)
  const price = (gas: bigint, arms = false) => transactionTinybar(market, gas, arms)
  if (periods === 1n) return { purchases: count * price(GAS.openOnePeriod), renewals: 0n }
  const opening = price(GAS.openArming, true)
  const renewal = renewalTinybar(market)
  const last = price(GAS.renewalLast)
  const joining = price(GAS.openJoining)
  const isArmedBy = (some: bigint) =>
    some * terms.priceTinybar * 100n >= renewal * BigInt(market.armingFloorPercent)
  if (!isArmedBy(count))
    return { purchases: count * (joining + 2n * price(GAS.calendarWord)), renewals: 0n }
  if (count === 1n) return { purchases: opening, renewals: (periods - 2n) * renewal + last }
  const armingPurchases = periods * (opening + last - joining - renewal)
  return {
    purchases: count * joining + periods * price(GAS.calendarWord),
    renewals: periods * renewal + atLeast(armingPurchases, isArmedBy(1n) ? periods - 1n : 1n),
  }
}

function callsCost(terms: OfferTerms, market: Market, demand: Demand) {
  const { batchedAgents = 1 } = demand
  // One process makes no more, whatever the pace (A18).
  const records = countEntries(terms.callsAllowed, demand.calls)
  if (records === 0) return 0n
  const agents = BigInt(batchedAgents)
  // The gas that a batch's agents share falls with their number; what each adds stays.
  const gas = (alone: bigint, batched: bigint) =>
    batched + atLeast((alone - batched) * (BATCH_AGENTS - agents), agents * (BATCH_AGENTS - 1n))
  const first = gas(GAS.recordFirst, GAS.recordFirstBatched)
  const further = gas(GAS.record, GAS.recordBatched)
  return transactionTinybar(market, first + BigInt(records - 1) * further)
}

/** Computes costs and earnings of one window, the mean over all agents. */
export function windowCost(terms: OfferTerms, market: Market, demand: Demand): WindowCost {
  const { agents } = demand
  const slots = slotCount(terms)
  const fuller = slotCost(terms, market, Math.ceil(agents / slots))
  const others = slotCost(terms, market, Math.floor(agents / slots))
  const fullerCount = agents % slots === 0 ? slots : agents % slots
  const windows = BigInt(agents) * BigInt(market.periodsPerPurchase)
  const mean = (part: keyof SlotCost): bigint => {
    const rest = agents < slots ? 0n : others[part] * BigInt(slots - fullerCount)
    return atLeast(fuller[part] * BigInt(fullerCount) + rest, windows)
  }
  const cost = {
    purchaseTinybar: mean('purchases'),
    renewalTinybar: mean('renewals'),
    callsTinybar: callsCost(terms, market, demand),
  }
  const costTinybar = cost.purchaseTinybar + cost.renewalTinybar + cost.callsTinybar
  return { ...cost, costTinybar, profitTinybar: terms.priceTinybar - costTinybar }
}

const slotCount = (terms: OfferTerms): number =>
  Math.max(1, Math.floor(terms.periodSeconds / terms.slotSeconds))

/** Agents, and use in percent of the quota, in the table that a seller is shown. */
const TABLE_AGENTS = [1, 20, 100] as const
const TABLE_USE_PERCENT = [0, 50, 100] as const

export type OfferEconomics = ReturnType<typeof offerEconomics>

/** Everything that `deploy`, `set-offer` and the documents say about an offer that `recorderCount` processes record. */
export function offerEconomics(terms: OfferTerms, market: Market, recorderCount = 1) {
  const at = (agents: number, calls: number) => windowCost(terms, market, { agents, calls })
  const table = TABLE_AGENTS.map((agents) => ({
    agents,
    windows: TABLE_USE_PERCENT.map((usePercent) => ({
      usePercent,
      ...at(agents, Math.ceil((terms.callsAllowed * usePercent) / 100)),
    })),
  }))
  let breakEvenAgents: number | undefined
  for (let agents = 1; agents <= BREAK_EVEN_AGENTS_MAX; agents += 1) {
    if (at(agents, terms.callsAllowed).profitTinybar < 0n) continue
    breakEvenAgents = agents
    break
  }
  return {
    table,
    /** Fewest agents that pay for the use of all their quotas; none if 1,000 do not. */
    breakEvenAgents,
    /** The most that all processes together record in a window, whatever is called in it. */
    recordsMax: recorderCount * countEntries(terms.callsAllowed),
    recordingTinybarMax:
      BigInt(recorderCount) * callsCost(terms, market, { agents: 1, calls: terms.callsAllowed }),
    isLossAtFullUse: at(1, terms.callsAllowed).profitTinybar < 0n,
    slots: slotCount(terms),
    /** Most that renewals take from the reserve in an hour, for one period length, with every slot armed. */
    reserveHourTinybar:
      BigInt(Math.ceil(SECONDS_PER_HOUR / terms.slotSeconds)) * renewalTinybar(market),
    /** Reserve that one armed slot locks. */
    lockTinybar: scheduledGas(market) * market.gasPriceTinybar * LOCK_FACTOR,
  }
}
