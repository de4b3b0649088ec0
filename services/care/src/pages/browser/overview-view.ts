/** What the overview shows of /verify. */
import { element, pageElement, put } from '@tallystick/service-kit/browser'
import type { ChainVerdict, PublicReceipt, VerifyPayload } from '../../wire/verify.ts'
import { readableUri } from './read-record.ts'
import { countWord, timeText, word } from './words.ts'

/** Most chains that the page shows, as many as a person can look through; the verdict and /verify cover them all. */
const ROWS_MAX = 100

export function verdictWords({ chains, intact }: Pick<VerifyPayload, 'chains' | 'intact'>): string {
  if (chains.length === 0) return word('noRecords')
  if (intact) return countWord('chainsIntact', chains.length)
  return countWord('chainsBroken', chains.filter((chain) => !chain.intact).length)
}

/** Broken chains first, then by name. */
export function inOrderOfConcern(chains: readonly ChainVerdict[]): readonly ChainVerdict[] {
  return [...chains].sort(
    (left, right) => Number(left.intact) - Number(right.intact) || (left.uri < right.uri ? -1 : 1),
  )
}

/** How the newest versions are stored, of which this is one; undefined if there are none. */
function atRestWords(receipt: PublicReceipt | undefined): string {
  if (receipt === undefined) return '–'
  const { algorithm, encrypted, keyId: key } = receipt
  if (!encrypted) return word('inTheClear')
  return typeof key === 'string'
    ? word('sealedUnder', { algorithm, key })
    : word('sealedWith', { algorithm })
}

export function showVerdict(answer: VerifyPayload): void {
  const { chains, receipts, versions, intact, checkedAt } = answer
  pageElement('verdict').className = `note verdict ${intact ? 'good' : 'bad'}`
  put('verdict-words', verdictWords(answer))
  put('verdict-facts', word('replayedAt', { time: timeText(checkedAt) }))
  put('chain-count', String(chains.length))
  put('version-count', String(versions))
  const sealed = receipts.filter(({ encrypted }) => encrypted)
  put('sealed-count', word('sealedOf', { sealed: sealed.length, count: chains.length }))
  put('at-rest', atRestWords(sealed[0] ?? receipts[0]))
}

export function showNoVerdict(why: string): void {
  pageElement('verdict').className = 'note verdict warn'
  put('verdict-words', word('noVerdict'))
  put('verdict-facts', word('olderBelow', { why }))
}

function chainRow({ uri, versions, intact, brokenAt }: ChainVerdict, algorithm: string) {
  const verdict = word(intact ? 'isIntact' : 'brokenAt', { version: brokenAt ?? '?' })
  const sealed = word(algorithm === 'none' ? 'inTheClear' : 'sealedWith', { algorithm })
  return element(
    'tr',
    {},
    element(
      'td',
      {},
      element('span', { class: 'mono' }, ...readableUri(uri)),
      element('small', {}, sealed),
    ),
    element('td', { class: 'number' }, String(versions)),
    element('td', {}, element('span', { class: `badge ${intact ? 'good' : 'bad'}` }, verdict)),
  )
}

let shown = ''
/** Redraws the table only if something differs. */
export function showChains({ chains, receipts }: VerifyPayload): void {
  const state = JSON.stringify([chains, receipts])
  if (state === shown) return
  shown = state
  const algorithms = new Map(receipts.map(({ uri, algorithm }) => [uri, algorithm]))
  const rows = inOrderOfConcern(chains)
    .slice(0, ROWS_MAX)
    .map((chain) => chainRow(chain, algorithms.get(chain.uri) ?? 'none'))
  const none = element('tr', {}, element('td', { colspan: '3', class: 'faint' }, word('noChains')))
  pageElement('chains').replaceChildren(...(rows.length === 0 ? [none] : rows))
  const rest = chains.length - rows.length
  put('chains-cut', rest > 0 ? countWord('moreChains', rest) : '')
}
