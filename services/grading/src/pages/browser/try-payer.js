/** Who pays on this page: a development key from the link, else the browser's wallet, else nobody. */
import { pageElement, pageFact, put } from './page-element.js'
import { walletWords } from './payment-words.js'
import { takeFragment } from './take-fragment.js'
import { walletPayer, walletProvider } from './wallet.js'

/** @typedef {import('./development-key.js').Payer} Payer */

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/**
 * Whether a key in a link may be used: only where the service runs on the reader's own machine. A key that is worth
 * something belongs in a wallet, and this page must not train anybody to put one into an address.
 *
 * @param {string} hostname
 */
const takesDevelopmentKeys = (hostname) => LOOPBACK.includes(hostname)

/** @type {Payer | undefined} */
let payer
/** @type {() => void} */
let onChange = () => {}

/** Who pays now; undefined while nobody does. */
export const currentPayer = () => payer

/**
 * @param {string} words
 * @param {Payer} [next]
 */
function setPayer(words, next) {
  payer = next
  put('payer-words', words)
  put('payer-problem', '')
  onChange()
}

async function takeKey() {
  const key = takeFragment().get('key')
  if (key === null) return
  if (!takesDevelopmentKeys(location.hostname)) {
    put(
      'payer-problem',
      'The link carried a key. It was dropped: keys are taken only where the service runs on your own machine.',
    )
    return
  }
  try {
    // Only whoever brings a key loads what signs with it.
    const { developmentPayer } = await import('./development-key.js')
    const made = developmentPayer(key)
    setPayer(
      `The development key of the link: ${made.address}. It is held in memory until you leave the page.`,
      made,
    )
  } catch {
    put('payer-problem', 'The link carried a key that is none: 32 bytes in hex are one.')
  }
}

async function connectWallet() {
  const provider = walletProvider()
  if (provider === undefined) return
  const button = pageElement('connect', HTMLButtonElement)
  button.disabled = true
  try {
    const network = pageFact('payment-network')
    const made = await walletPayer(provider, { network, rpcUrl: pageFact('payment-rpc') })
    setPayer(`Your wallet: ${made.address}. It shows each payment before you sign it.`, made)
  } catch (error) {
    put('payer-problem', walletWords(error))
  }
  button.disabled = false
}

/**
 * Finds out who can pay, and says so on the page.
 *
 * @param {() => void} change Called whenever that changes.
 */
export function watchPayer(change) {
  onChange = change
  const connect = pageElement('connect', HTMLButtonElement)
  connect.addEventListener('click', () => void connectWallet())
  if (walletProvider() !== undefined) {
    connect.hidden = false
    put(
      'payer-words',
      'This browser has a wallet. It is asked for an address, and for one signature per call.',
    )
  } else
    put(
      'payer-words',
      'No wallet found in this browser. Without one you can check a request, free; the overview has a first paid request for agents.',
    )
  void takeKey()
  addEventListener('hashchange', () => void takeKey())
  change()
}
