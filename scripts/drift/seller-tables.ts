// The tables of docs/how-to/what-a-seller-earns.md, from the same arithmetic that `access-operator deploy` prints.
import { LOCAL_OFFER, TESTNET_OFFER } from '../../services/access/src/command/deploy.ts'
import {
  type Market,
  type OfferTerms,
  offerEconomics,
  windowCost,
} from '../../services/access/src/domain/offer-economics.ts'

/** Prices of autumn 2026: the page names them. */
const MARKET: Market = {
  gasPriceTinybar: 109n,
  scheduleCost: 1_200,
  armingFloorPercent: 100,
  tinycentsPerHbar: 781_666_666n,
  periodsPerPurchase: 4,
}

const HOUR: OfferTerms = { ...TESTNET_OFFER, slotSeconds: 900 }

const hbar = (tinybar: bigint): string => (Number(tinybar) / 1e8).toFixed(2)
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')

/** What a window costs and leaves, at the default offer of testnet. */
function earningsTable(): string {
  const economics = offerEconomics(HOUR, MARKET)
  return table(
    ['agents', 'nothing used', 'half the quota', 'the whole quota'],
    economics.table.map(({ agents, windows }) => [
      String(agents),
      ...windows.map(
        ({ costTinybar, profitTinybar }) =>
          `costs ${hbar(costTinybar)}, leaves ${hbar(profitTinybar)}`,
      ),
    ]),
  )
}

/** Who pays for a window whose whole quota is used, in HBAR. */
function accountsTable(): string {
  return table(
    ['agents', 'payTo: its purchase', 'reserve: its renewal', 'recorder: its calls', 'together'],
    [1, 20, 100].map((agents) => {
      const cost = windowCost(HOUR, MARKET, { agents, calls: HOUR.callsAllowed })
      const { purchaseTinybar, renewalTinybar, callsTinybar, costTinybar } = cost
      return [
        String(agents),
        ...[purchaseTinybar, renewalTinybar, callsTinybar, costTinybar].map(hbar),
      ]
    }),
  )
}

/** Other offers, at the whole quota. */
function offersTable(): string {
  const offers: readonly (readonly [string, OfferTerms])[] = [
    ['default, 3 HBAR an hour', HOUR],
    ['2 HBAR an hour', { ...HOUR, priceTinybar: 200_000_000n }],
    ['3 HBAR an hour in one slot', { ...HOUR, slotSeconds: 3_600 }],
    [
      '20 HBAR a day, 10,000 calls',
      {
        priceTinybar: 2_000_000_000n,
        periodSeconds: 86_400,
        callsAllowed: 10_000,
        slotSeconds: 21_600,
      },
    ],
    ['local default, 20 s', LOCAL_OFFER],
  ]
  return table(
    [
      'offer',
      'a lone agent leaves',
      'twenty leave, each',
      'break-even',
      'reserve an hour, at most',
      'locked for each slot',
    ],
    offers.map(([name, terms]) => {
      const { breakEvenAgents, lockTinybar, reserveHourTinybar } = offerEconomics(terms, MARKET)
      const left = (agents: number) =>
        hbar(windowCost(terms, MARKET, { agents, calls: terms.callsAllowed }).profitTinybar)
      const from = breakEvenAgents === undefined ? 'never' : `${breakEvenAgents} agents`
      return [
        name,
        left(1),
        left(20),
        breakEvenAgents === 1 ? '1 agent' : from,
        hbar(reserveHourTinybar),
        hbar(lockTinybar),
      ]
    }),
  )
}

/** What a lone agent's window costs at most, whatever is called in it. */
function mostTable(): string {
  const offers: readonly (readonly [string, OfferTerms])[] = [
    ['default', HOUR],
    ['with 100 calls an hour', { ...HOUR, callsAllowed: 100 }],
  ]
  return table(
    ['offer', 'processes', 'records', 'recorders: its calls', 'together'],
    offers.flatMap(([name, terms]) =>
      [1, 2, 3].map((processes) => {
        const economics = offerEconomics(terms, MARKET, processes)
        const calls = economics.recordingTinybarMax
        const others = economics.table[0]?.windows[0]?.costTinybar ?? 0n
        const figures = [processes, economics.recordsMax].map(String)
        return [name, ...figures, hbar(calls), hbar(others + calls)]
      }),
    ),
  )
}

/** The figures that the page assumes. */
const premises = (): string =>
  [
    `At ${MARKET.gasPriceTinybar} tinybar a gas, ${(Number(MARKET.tinycentsPerHbar) / 1e8).toFixed(2)} US cents an HBAR and ${MARKET.scheduleCost / 100} US cents a scheduled call.`,
    `The default offer is ${hbar(HOUR.priceTinybar)} HBAR for ${HOUR.periodSeconds} s and ${HOUR.callsAllowed} calls, ${MARKET.periodsPerPurchase} periods at a time, in slots of ${HOUR.slotSeconds} s:`,
  ].join(' ')

/** All tables, each under its sentence. */
export function sellerTables(): string {
  return [
    premises(),
    earningsTable(),
    'Who pays for a window of it, the whole quota used:',
    accountsTable(),
    'Other offers, the whole quota used:',
    offersTable(),
    'The most that a window of a lone agent costs, whatever is called in it, by the number of processes that record:',
    mostTable(),
  ].join('\n\n')
}
