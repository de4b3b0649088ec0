/** Looks markets up, free: by teams and day, and whether a typed key can be graded. */
import { actionButton, element, pageElement, put } from '@tallystick/service-kit/browser'
import type { CoverageAnswer } from '../../wire/coverage.ts'
import { timeText } from '../figures.ts'
import { badge, hint } from './card-parts.ts'
import { marketWords } from './market-words.ts'
import { filled, readCoverage } from './page-api.ts'
import { showMiss, showProblem } from './show-issues.ts'

export type Candidate = CoverageAnswer['candidates'][number]
type Choose = (market: string, event: Candidate) => void

/** The most events in one search answer of the service. */
const FOUND_MAX = 20

const CLOSE_WORDS: Readonly<Record<CoverageAnswer['close'], string>> = {
  final: 'Its close is recorded: it can be graded.',
  pending: 'Its close is still to come: it can be graded only once the last price is final.',
  none: 'No close is recorded: the answer would be UNGRADED, and you would pay for it.',
}

function eventItem(event: Candidate, choose: Choose): HTMLElement {
  const chips = event.markets.map(({ market, close }) => {
    const attributes = { class: 'chip', 'data-market': market, 'data-close': close }
    const chip = actionButton(attributes, marketWords(market), () => choose(market, event))
    if (close !== 'final') chip.append(element('small', {}, ' not closed'))
    return chip
  })
  const result =
    event.result === 'final' ? 'settled' : event.result === 'void' ? 'void' : 'not settled'
  return element(
    'li',
    {},
    element(
      'p',
      {},
      element('strong', {}, `${event.home} v ${event.away} `),
      event.synthetic && badge('warn', 'synthetic'),
    ),
    hint(`${timeText(event.starts_at, event.start_precision)} · ${result}`),
    element('div', { class: 'chips' }, ...chips),
  )
}

const isGradable = ({ markets }: Candidate): boolean =>
  markets.some(({ close }) => close === 'final')

function foundWords(count: number): string {
  if (count === 0) return 'No event in the ledger matches. Try fewer words.'
  if (count === 1) return 'One event fits:'
  const many =
    count >= FOUND_MAX
      ? `${FOUND_MAX} events and more fit: a day or a second team narrows it down.`
      : `${count} events fit.`
  return `${many} What can be graded now comes first:`
}

function foundList({ candidates }: CoverageAnswer, choose: Choose): readonly HTMLElement[] {
  const words = hint(foundWords(candidates.length))
  if (candidates.length === 0) return [words]
  const gradable = candidates.filter(isGradable)
  const others = candidates.filter((event) => !isGradable(event))
  const items = [...gradable, ...others].map((event) => eventItem(event, choose))
  return [words, element('ul', { class: 'found' }, ...items)]
}

/** Looks up the form's input and offers what it found. */
export async function findMarkets(
  { text, date }: { readonly text: string; readonly date: string },
  choose: Choose,
): Promise<void> {
  const found = pageElement('found')
  showProblem('find-text', '')
  if (text === '' && date === '') {
    showProblem('find-text', 'Enter a team, or choose a day.')
    return
  }
  const answer = await readCoverage(filled({ text, date }))
  found.replaceChildren(...(answer.kind === 'seen' ? foundList(answer.answer, choose) : []))
  showMiss('find-text', answer)
}

/** Shows below the market's field whether its key can be graded, and returns its event; marks a malformed key. */
export async function coverMarket(): Promise<Candidate | undefined> {
  const field = pageElement('market', HTMLInputElement)
  const market = field.value.trim()
  put('market-cover', '')
  if (market === '') return undefined
  const answer = await readCoverage({ market })
  if (field.value.trim() !== market || answer.kind === 'failed') return undefined
  showMiss('market', answer)
  if (answer.kind === 'invalid') return undefined
  const { close, candidates } = answer.answer
  const [event] = candidates
  const teams =
    event === undefined
      ? ''
      : `${event.home} v ${event.away}, ${timeText(event.starts_at, event.start_precision)}. `
  const synthetic = event?.synthetic ? ' Synthetic data.' : ''
  put('market-cover', `${teams}${CLOSE_WORDS[close]}${synthetic}`)
  return event
}
