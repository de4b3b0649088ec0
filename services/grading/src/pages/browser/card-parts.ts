/** The parts of cards and audits: named facts, two results side by side, notes, letters. */
import { type Child, element, pageElement, put } from '@tallystick/service-kit/browser'
import { withMinus } from '../figures.ts'

/** Named facts; those without a value are left out. */
export function facts(pairs: readonly (readonly [name: string, value: Child])[]): HTMLElement {
  const parts = pairs.flatMap(([name, value]) =>
    value === undefined || value === false
      ? []
      : [element('dt', {}, name), element('dd', {}, value)],
  )
  return element('dl', { class: 'facts' }, ...parts)
}

/** One of two results of the same bets: its name, the result in large type, and its explanation. */
export function side(name: string, big: HTMLElement, ...lines: readonly Child[]): HTMLElement {
  return element(
    'div',
    { class: 'side' },
    element('h3', {}, name),
    big,
    ...lines.map((line) => (typeof line === 'string' ? element('p', {}, line) : line)),
  )
}

export const big = (content: Node | string, tone = ''): HTMLElement =>
  element('p', { class: tone === '' ? 'big' : `big ${tone}` }, content)

export function sides(label: string, ...both: readonly [HTMLElement, HTMLElement]): HTMLElement {
  return element('div', { class: 'sides', role: 'group', 'aria-label': label }, ...both)
}

export const letter = (band: string, size: '' | 'small' = ''): HTMLElement =>
  element('span', { class: `letter ${size}`.trim(), 'data-band': band }, band)

export const said = (words: string): HTMLElement =>
  element('p', { class: 'verdict-words' }, withMinus(words))
export const hint = (...words: readonly Child[]): HTMLElement =>
  element('p', { class: 'hint' }, ...words)
export const badge = (tone: string, words: string): HTMLElement =>
  element('span', { class: `badge ${tone}` }, words)
export const note = (tone: string, ...words: readonly Child[]): HTMLElement =>
  element('p', { class: `note ${tone}` }, ...words)
/** What state the page is in, in the tone of a class. */
export function putState(kind: string, words: string): void {
  pageElement('state').className = kind
  put('state', words)
}
export const mono = (text: string): HTMLElement => element('span', { class: 'mono' }, text)

export const syntheticNote = (words: string): HTMLElement =>
  note('warn', element('strong', {}, 'Synthetic data.'), ` ${words}`)

/** A row of a table: its subject, with cells on either side. */
export const tableRow = (head: Child, ...cells: readonly Child[]): HTMLElement =>
  element('tr', {}, element('th', { scope: 'row' }, head), ...cells)
