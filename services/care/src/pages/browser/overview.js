/** The overview: live verdicts on the public chains, refreshed while somebody looks. */
import { inOrderOfConcern, readCheckpoint, verdictWords } from './overview-facts.js'
import { element, pageElement } from './page-element.js'

/** @typedef {import('./overview-facts.js').VerifyAnswer} VerifyAnswer */

/** A replay reads every stored byte: no oftener than this, and at least twenty times as long as the last one took. */
const REFRESH_MS = 5_000
const REFRESH_SHARE = 20
/** A page shows as many chains as can be looked through; all of them are in the verdict and in /verify. */
const ROWS_MAX = 100

/**
 * @param {string} id
 * @param {string} text
 */
function put(id, text) {
  const place = pageElement(id, HTMLElement)
  // Written only where it differs, so that a reader's selection and announcements are left alone.
  if (place.textContent !== text) place.textContent = text
}

/** @param {VerifyAnswer} answer */
function showVerdict(answer) {
  const { chains, receipts, versions, intact, checkedAt } = answer
  pageElement('verdict', HTMLElement).className = `note verdict ${intact ? 'good' : 'bad'}`
  put('verdict-words', verdictWords(answer))
  put('verdict-facts', `Replayed from stored bytes at ${new Date(checkedAt).toLocaleTimeString()}.`)
  put('chain-count', String(chains.length))
  put('version-count', String(versions))
  put('sealed-count', `${receipts.filter(({ encrypted }) => encrypted).length} of ${chains.length}`)
  put('at-rest', answer.atRest)
}

/**
 * @param {import('./overview-facts.js').ChainVerdict} chain
 * @param {string} algorithm
 */
function chainRow({ uri, versions, intact, brokenAt }, algorithm) {
  const verdict = intact ? 'INTACT' : `BROKEN at ${brokenAt ?? '?'}`
  const sealed = algorithm === 'none' ? 'stored in the clear' : `sealed with ${algorithm}`
  return element(
    'tr',
    {},
    element('td', {}, element('span', { class: 'mono' }, uri), element('small', {}, sealed)),
    element('td', { class: 'number' }, String(versions)),
    element('td', {}, element('span', { class: `badge ${intact ? 'good' : 'bad'}` }, verdict)),
  )
}

let shown = ''
/** @param {VerifyAnswer} answer */
function showChains({ chains, receipts }) {
  const state = JSON.stringify([chains, receipts])
  if (state === shown) return
  shown = state
  const algorithms = new Map(receipts.map(({ uri, algorithm }) => [uri, algorithm]))
  const rows = inOrderOfConcern(chains)
    .slice(0, ROWS_MAX)
    .map((chain) => chainRow(chain, algorithms.get(chain.uri) ?? 'none'))
  const none = element('tr', {}, element('td', { colspan: '3', class: 'faint' }, 'None yet.'))
  pageElement('chains', HTMLElement).replaceChildren(...(rows.length === 0 ? [none] : rows))
  const rest = chains.length - rows.length
  put('chains-cut', rest > 0 ? `${rest} more, all in /verify.` : '')
}

/**
 * @param {string} path
 * @param {string} accept
 */
async function read(path, accept) {
  const answer = await fetch(path, { headers: { accept }, cache: 'no-store' })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
  return answer
}

async function showCheckpoint() {
  const answer = await read('/verify/checkpoint', 'text/plain')
  const checkpoint = readCheckpoint(await answer.text())
  if (checkpoint === undefined) return
  put('checkpoint-size', String(checkpoint.size))
  put('checkpoint-root', checkpoint.root)
  put('checkpoint-signer', checkpoint.signer)
}

async function showSessions() {
  const answer = await read('/health', 'application/json')
  const { sessions } = await answer.json()
  put('sessions', String(sessions))
}

async function showVerification() {
  try {
    const answer = await read('/verify', 'application/json')
    /** @type {VerifyAnswer} */
    const verified = await answer.json()
    showVerdict(verified)
    showChains(verified)
  } catch {
    pageElement('verdict', HTMLElement).className = 'note verdict warn'
    put('verdict-words', 'No verdict just now')
    put(
      'verdict-facts',
      'The service does not answer, or is busy. What stands below is older. Trying again…',
    )
  }
}

/** Puts a button on every request to copy, where the browser lets a page copy. */
function offerCopies() {
  if (navigator.clipboard === undefined) return
  for (const code of document.querySelectorAll('pre')) {
    const button = element('button', { type: 'button', class: 'small copy' }, 'Copy')
    button.addEventListener('click', () => {
      navigator.clipboard.writeText(code.textContent).then(
        () => (button.textContent = 'Copied'),
        () => (button.textContent = 'Not allowed'),
      )
    })
    const frame = element('div', { class: 'request' })
    code.replaceWith(frame)
    frame.append(code, button)
  }
}

async function refresh() {
  const startedMs = performance.now()
  if (document.visibilityState === 'visible')
    await Promise.allSettled([showVerification(), showSessions(), showCheckpoint()])
  const tookMs = performance.now() - startedMs
  setTimeout(() => void refresh(), Math.max(REFRESH_MS, tookMs * REFRESH_SHARE))
}

offerCopies()
void refresh()
