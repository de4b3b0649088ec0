/** What the overview shows of /verify. */
import { element, pageElement, put } from '@tallystick/service-kit/browser'
import type { ChainVerdict, VerifyPayload } from '../../wire/verify.ts'
import { readableUri } from './read-record.ts'

/** Most chains that the page shows, as many as a person can look through; the verdict and /verify cover them all. */
const ROWS_MAX = 100

export function verdictWords({ chains, intact }: Pick<VerifyPayload, 'chains' | 'intact'>): string {
  if (chains.length === 0) return 'No public records yet'
  const broken = chains.filter((chain) => !chain.intact).length
  if (!intact) return broken === 1 ? 'One chain is BROKEN' : `${broken} chains are BROKEN`
  return chains.length === 1 ? 'The one chain is intact' : `All ${chains.length} chains are intact`
}

/** Broken chains first, then by name. */
export function inOrderOfConcern(chains: readonly ChainVerdict[]): readonly ChainVerdict[] {
  return [...chains].sort(
    (one, other) => Number(one.intact) - Number(other.intact) || (one.uri < other.uri ? -1 : 1),
  )
}

export function showVerdict(answer: VerifyPayload): void {
  const { chains, receipts, versions, intact, checkedAt } = answer
  pageElement('verdict').className = `note verdict ${intact ? 'good' : 'bad'}`
  put('verdict-words', verdictWords(answer))
  put('verdict-facts', `Replayed from stored bytes at ${new Date(checkedAt).toLocaleTimeString()}.`)
  put('chain-count', String(chains.length))
  put('version-count', String(versions))
  put('sealed-count', `${receipts.filter(({ encrypted }) => encrypted).length} of ${chains.length}`)
  put('at-rest', answer.atRest)
}

export function showNoVerdict(why: string): void {
  pageElement('verdict').className = 'note verdict warn'
  put('verdict-words', 'No verdict just now')
  put('verdict-facts', `${why} What stands below is older. Trying again…`)
}

function chainRow({ uri, versions, intact, brokenAt }: ChainVerdict, algorithm: string) {
  const verdict = intact ? 'INTACT' : `BROKEN at ${brokenAt ?? '?'}`
  const sealed = algorithm === 'none' ? 'stored in the clear' : `sealed with ${algorithm}`
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
  const none = element('tr', {}, element('td', { colspan: '3', class: 'faint' }, 'None yet.'))
  pageElement('chains').replaceChildren(...(rows.length === 0 ? [none] : rows))
  const rest = chains.length - rows.length
  put('chains-cut', rest > 0 ? `${rest} more, all in /verify.` : '')
}
