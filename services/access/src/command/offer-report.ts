// `deploy` and `set-offer` say this about an offer before they make it: its table, its break-even, and a loss's refusal.
import { accessWindowRules } from '@tallystick/contracts'
import { formatHbar } from '@tallystick/x402/hedera'
import { readView } from '../adapters/contract-calls.ts'
import { type LedgerFacts, WEIBAR_PER_TINYBAR } from '../adapters/ledger-facts.ts'
import {
  type Market,
  type OfferEconomics,
  type OfferTerms,
  offerEconomics,
} from '../domain/offer-economics.ts'
import type { ContractView } from './operator-contract.ts'
import { type OperatorCall, OperatorRefusal } from './operator-verb.ts'

/** The expected cost of a scheduled call, and what it has to earn (A19, A20). */
type Arming = Pick<Market, 'scheduleCost' | 'armingFloorPercent'>

/** A new contract's values. */
export const NEW_ARMING: Arming = {
  scheduleCost: accessWindowRules.defaultScheduleCost,
  armingFloorPercent: accessWindowRules.defaultArmingFloor,
}

/** The values that a contract's owner has set. Throws the relay's errors. */
export async function readArming({ relay, contract }: ContractView): Promise<Arming> {
  const query = { contract, functionName: 'arming' } as const
  const [scheduleCost, armingFloorPercent] = await readView(relay, query)
  return { scheduleCost, armingFloorPercent }
}

/** Options of the verbs that make an offer. */
export const OFFER_REPORT_OPTIONS = { json: 'flag', 'at-a-loss': 'flag' } as const

/** Reads what gas and HBAR cost now. Throws the relay's errors. */
async function readMarket(facts: LedgerFacts) {
  const [gasPriceWeibar, tinycentsPerHbar] = await Promise.all([
    facts.gasPriceWeibar(),
    facts.tinycentsPerHbar(),
  ])
  return { gasPriceTinybar: gasPriceWeibar / WEIBAR_PER_TINYBAR, tinycentsPerHbar }
}

/** HBAR with two decimals, as a column of a table. */
const hbar = (tinybar: bigint): string => (Number(tinybar) / 1e8).toFixed(2)

const dollars = (tinybar: bigint, market: Market): string =>
  `$${((Number(tinybar) * Number(market.tinycentsPerHbar)) / 1e18).toFixed(3)}`

const cells = (values: readonly string[]): string =>
  values.map((value) => value.padStart(17)).join('')

/** The table and what follows from it, at most 80 columns. */
function offerReportLines(
  terms: OfferTerms,
  market: Market,
  economics: OfferEconomics & { readonly recorderCount: number },
): readonly string[] {
  const { breakEvenAgents, lockTinybar, reserveHourTinybar, slots, table } = economics
  const processes =
    economics.recorderCount === 1
      ? 'the process that records'
      : `the ${economics.recorderCount} processes that record (RECORDER_COUNT)`
  const uses = table[0]?.windows.map(({ usePercent }) => `${usePercent} % used`) ?? []
  return [
    `A window earns ${hbar(terms.priceTinybar)} HBAR (${dollars(terms.priceTinybar, market)}). It costs, and leaves, HBAR:`,
    '',
    `${'agents'.padStart(8)}${cells(uses)}`,
    ...table.map(
      ({ agents, windows }) =>
        `${String(agents).padStart(8)}${cells(windows.map(({ costTinybar, profitTinybar }) => `${hbar(costTinybar)} ${profitTinybar < 0n ? '' : '+'}${hbar(profitTinybar)}`))}`,
    ),
    '',
    breakEvenAgents === undefined
      ? 'Break-even:  none; the whole quota costs more than the price at any number of agents'
      : `Break-even:  ${breakEvenAgents} ${breakEvenAgents === 1 ? 'agent' : 'agents'} with the whole quota used`,
    `Recorder:    at most ${economics.recordsMax} records a window, ${hbar(economics.recordingTinybarMax)} HBAR, whatever is called in it,`,
    `             by ${processes}; the table has one`,
    `Reserve:     spends at most ${hbar(reserveHourTinybar)} HBAR an hour on ${slots} slots,`,
    `             and locks ${hbar(lockTinybar)} HBAR for each that is armed`,
    `Reckoned at ${market.gasPriceTinybar} tinybar a gas and ${market.scheduleCost / 100} US cents a scheduled call, which`,
    `is armed when it earns ${market.armingFloorPercent} % of its cost, with agents spread evenly over the`,
    'slots and their records not batched.',
  ]
}

/** Prints what the offer earns. Throws OperatorRefusal for one that loses money at full use, unless that is wanted. */
export async function reportOffer(
  call: OperatorCall,
  facts: LedgerFacts,
  { terms, arming }: { readonly terms: OfferTerms; readonly arming: Arming },
): Promise<void> {
  const { PERIODS_PER_PURCHASE: periodsPerPurchase, RECORDER_COUNT: recorderCount } = call.config
  const market = { ...arming, ...(await readMarket(facts)), periodsPerPurchase }
  const economics = { recorderCount, ...offerEconomics(terms, market, recorderCount) }
  if (call.has('json')) {
    const figures = { ...terms, market, ...economics }
    call.print(
      JSON.stringify(figures, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      ),
    )
  } else for (const line of offerReportLines(terms, market, economics)) call.print(line)
  if (!economics.isLossAtFullUse || call.has('at-a-loss')) return
  const costTinybar = economics.table[0]?.windows.at(-1)?.costTinybar ?? 0n
  throw new OperatorRefusal(
    `A lone agent that uses its whole quota costs ${formatHbar(costTinybar)} a window and pays ${formatHbar(terms.priceTinybar)}. Ask for more, allow fewer calls, or say --at-a-loss.`,
  )
}
