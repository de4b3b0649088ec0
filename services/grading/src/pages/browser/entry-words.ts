/** Entries of the ledger in words: what each records, of which event, and when. */
import { element } from '@tallystick/service-kit/browser'
import type { EntryPrices, LedgerEntry, OutcomeEntry } from '../../domain/closes/ledger-entry.ts'
import type { PickOpening } from '../../domain/closes/pick-opening.ts'
import type { EntryView } from '../../wire/ledger.ts'
import { counted, timeText } from '../figures.ts'
import { facts, hint, mono } from './card-parts.ts'
import { betWords, marketWords, selectionWords } from './market-words.ts'

type Prices = Pick<EntryPrices, 'market' | 'book'> & Partial<Pick<EntryPrices, 'odds'>>

/** The members of an entry that the page reads; each kind has some of them. */
type Members = Partial<
  Pick<
    OutcomeEntry,
    'event' | 'feed' | 'isSynthetic' | 'receivedAtSeconds' | 'period' | 'score' | 'supersedes'
  >
> & {
  readonly type?: LedgerEntry['type']
  readonly status?: string
  readonly prices?: readonly (Prices & { readonly selections?: readonly string[] })[]
  readonly commitment?: string
}

type Opening = Pick<PickOpening, 'market' | 'selection' | 'odds'>

const shownMembers = ({ entry, redacted }: EntryView): Members => entry ?? redacted ?? {}

const TYPES: Readonly<Record<NonNullable<Members['type']>, string>> = {
  close: 'Close',
  snapshot: 'Early prices',
  outcome: 'Result',
  pick: 'Committed pick',
}

/** What an entry is: `Close, provisional`. */
export function kindWords(view: EntryView): string {
  const { status, type } = shownMembers(view)
  if (type === undefined) return 'Entry'
  return status === undefined || status === 'final' ? TYPES[type] : `${TYPES[type]}, ${status}`
}

const at = (seconds: number | undefined, precision: 'second' | 'day' = 'second'): string =>
  seconds === undefined ? '–' : timeText(new Date(seconds * 1_000).toISOString(), precision)

export function aboutWords(view: EntryView): string {
  const { event } = shownMembers(view)
  if (event !== undefined) return `${event.home} v ${event.away}`
  const opening = view.opened as Opening | undefined
  return opening === undefined ? 'open once its event has started' : opening.market
}

export const recordedWords = (view: EntryView): string => at(shownMembers(view).receivedAtSeconds)

function priceRows({ event, prices = [] }: Members) {
  const rows = prices.map(({ book, market, odds, selections = [] }) => {
    const words =
      odds === undefined
        ? `hidden: ${selections.map((selection) => selectionWords(selection, event)).join(', ')}`
        : Object.entries(odds)
            .map(([selection, price]) => `${selectionWords(selection, event)} ${price}`)
            .join(' · ')
    const what = element('th', { scope: 'row' }, marketWords(`x/x/${market}`))
    what.append(element('small', {}, book))
    return element('tr', {}, what, element('td', {}, words))
  })
  return (
    rows.length > 0 && element('table', { class: 'narrow prices' }, element('tbody', {}, ...rows))
  )
}

export function entryView(view: EntryView): HTMLElement {
  const members = shownMembers(view)
  const { commitment, event, feed, isSynthetic, period, score, supersedes = [] } = members
  const opening = view.opened as Opening | undefined
  return element(
    'article',
    { class: 'grade-card', 'data-entry': String(view.seq) },
    element('p', { class: 'teams' }, `${kindWords(view)}: ${aboutWords(view)}`),
    facts([
      ['Recorded', recordedWords(view)],
      ['League', event?.league],
      ['Start', event && at(event.startAtSeconds, event.startPrecision)],
      ['Source', feed && (isSynthetic && feed !== 'synthetic' ? `${feed}, synthetic` : feed)],
      ['Period', period !== 'ft' && period],
      ['Score', score && `${score.home}–${score.away}`],
      [
        'Pick',
        opening && `${betWords(opening.market, opening.selection, undefined)} at ${opening.odds}`,
      ],
      ['Commitment', commitment && mono(commitment)],
      [
        'Replaces',
        supersedes.length > 0 && counted(supersedes.length, 'entry').replace('entrys', 'entries'),
      ],
      ['Hash', mono(view.hash)],
    ]),
    priceRows(members),
    view.redacted !== undefined &&
      hint('Its source does not allow its prices to be public. The hash commits to them, salted.'),
  )
}
