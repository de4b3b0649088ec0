// The page at `/`: what is on the ledger, as it comes. It asks the mirror node as any explorer does.

import {
  browserModules,
  framedPage,
  type Html,
  html,
  type PageFile,
} from '@tallystick/service-kit/pages'
import { CHAIN_ID } from '../ledger/network.ts'

type Column = readonly [name: string, kind?: 'number']

/** What the page lists, in order; `browser/ledger.ts` fills the table of that id. */
const LISTS: readonly (readonly [id: string, title: string, columns: readonly Column[]])[] = [
  [
    'blocks',
    'Blocks',
    [['Block'], ['Transactions', 'number'], ['Gas used', 'number'], ['Closed at']],
  ],
  [
    'transactions',
    'Transactions',
    [['Transaction'], ['Kind'], ['Result'], ['Moved, HBAR', 'number'], ['At']],
  ],
  ['schedules', 'Schedules', [['Schedule'], ['Pays'], ['Due'], ['State']]],
  ['tokens', 'Tokens', [['Token'], ['Name'], ['Symbol'], ['Decimals', 'number']]],
  ['accounts', 'Accounts', [['Account'], ['EVM address'], ['Balance, HBAR', 'number']]],
]

function listSection([id, title, columns]: (typeof LISTS)[number]): Html {
  const heads = columns.map(
    ([name, kind]) =>
      html`<th scope="col"${kind !== undefined && html` class="${kind}"`}>${name}</th>`,
  )
  return html`<section>
<h2>${title}</h2>
<div class="scroll" tabindex="0" role="region" aria-label="${title}">
<table><thead><tr>${heads}</tr></thead><tbody id="${id}"></tbody></table>
</div>
<p class="hint" id="${id}-none">None yet.</p>
</section>
`
}

/** The page with its script. */
export function ledgerPage(): readonly PageFile[] {
  const page = framedPage(['/'], {
    title: 'Local Hedera',
    lead: `The newest of everything on this ledger (chain id ${CHAIN_ID}), every two seconds. Keys of its accounts are in the terminal that started it.`,
    body: html`<p id="state" role="status"></p>
${LISTS.map(listSection)}`,
    links: [
      { label: 'Blocks as the mirror node lists them', href: '/api/v1/blocks' },
      { label: 'Transactions', href: '/api/v1/transactions' },
    ],
    isWide: true,
    script: '/pages/ledger.js',
  })
  const scripts = browserModules({
    root: new URL('./browser/', import.meta.url),
    entries: ['ledger.ts'],
  })
  return [page, ...scripts]
}
