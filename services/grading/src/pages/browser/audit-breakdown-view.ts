/** An audit in parts: what the bettor's own record says otherwise, and the figures by sport, market, book, month and price. */
import { element } from '@tallystick/service-kit/browser'
import type { AuditAnswer } from '../../wire/audit.ts'
import { counted, percentInterval, signed, signedPercent } from '../figures.ts'
import { figureTable, numberCell, shareCell } from './band-table.ts'
import { hint, tableRow } from './card-parts.ts'

type Breakdown = AuditAnswer['breakdown']
type Group = Breakdown['sport'][number]

const TITLES: Readonly<Record<keyof Breakdown, string>> = {
  sport: 'By sport',
  market: 'By market',
  book: 'By book',
  month: 'By month',
  odds: 'By price taken',
}

const COLUMNS = [
  ['', ''],
  ['Picks', 'number'],
  ['Graded', 'number'],
  ['Mean value', 'number'],
  ['Return, flat stakes', 'number'],
  ['95 %', 'number'],
  ['Return by your stakes', 'number'],
] as const

const groupRow = (group: Group): HTMLElement =>
  tableRow(
    group.name.replace(/[_ ]/g, '\u00a0'),
    numberCell(String(group.picks)),
    numberCell(String(group.graded)),
    shareCell(group.mean_clv),
    shareCell(group.pct),
    numberCell(group.ci95 === null ? undefined : percentInterval(group.ci95)),
    shareCell(group.by_stake?.pct ?? null),
  )

/** Tables of the dimensions that have more than one group; a single one says what the whole audit says. */
export function breakdownView({ breakdown }: AuditAnswer): readonly HTMLElement[] {
  const tables = (Object.keys(TITLES) as (keyof Breakdown)[]).flatMap((dimension) => {
    const groups = breakdown[dimension]
    if (groups.length < 2) return []
    const title = TITLES[dimension]
    return [element('h4', {}, title), figureTable({ label: title }, COLUMNS, groups.map(groupRow))]
  })
  if (tables.length === 0) return []
  return [element('details', {}, element('summary', {}, 'In parts'), ...tables)]
}

/** What the bettor's record says otherwise than the ledger; none of it is an input of a grade. */
export function findingsView({ findings }: AuditAnswer): readonly HTMLElement[] {
  if (findings.length === 0) return []
  return [
    element('h3', {}, 'Your record says otherwise'),
    element(
      'ul',
      {},
      ...findings.map(({ message, pick }) => element('li', {}, `Pick ${pick + 1}: ${message}`)),
    ),
    hint('The grades do not depend on it: they come from the ledger alone.'),
  ]
}

/** The figures weighted by the record's stakes; undefined without any. */
export function stakeWords({ by_stake: weighted }: AuditAnswer): string | undefined {
  if (weighted === null || weighted.pct === null) return undefined
  const { ci95, mean_clv: value, pct, picks, profit } = weighted
  const interval = ci95 === null ? '' : `, 95 %: ${percentInterval(ci95)}`
  const worth = value === null ? '' : `; mean value ${signedPercent(value)}`
  return `${signedPercent(pct)} (${signed(profit)} on ${counted(picks, 'pick')}${interval})${worth}`
}
