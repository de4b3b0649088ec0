/** The page of what the seller earns: earnings against gas, window by window, as a plot and as the table of the same figures. */
import { type Html, html, type Page } from '@tallystick/service-kit/pages'
import { formatHbar } from '@tallystick/x402/hedera'
import type { SellerWindow, SellerWindows } from '../domain/seller-windows.ts'
import { ACCESS_FRAME, momentElement, momentText } from './access-frame.ts'
import { timeWords } from './time-words.ts'

export type EarningsPageDeps = {
  /** Undefined where nothing was read yet. */
  readonly readSellerWindows: () => Promise<SellerWindows | undefined>
}

const spentTinybar = ({ gasTinybar, renewalsTinybar }: SellerWindow): bigint =>
  gasTinybar + renewalsTinybar

const hbar = (tinybar: bigint): string => formatHbar(tinybar).replace(' HBAR', '').replace('-', '−')

const most = (amounts: readonly bigint[]): bigint =>
  amounts.reduce((largest, amount) => (amount > largest ? amount : largest), 0n)

const sum = (amounts: readonly bigint[]): bigint =>
  amounts.reduce((total, amount) => total + amount, 0n)

export async function earningsPage({ readSellerWindows }: EarningsPageDeps): Promise<Page> {
  const read = await readSellerWindows()
  return {
    ...ACCESS_FRAME,
    path: '/earnings',
    title: 'Earnings – Tallystick access',
    heading: 'What a window earns, and what it costs',
    lead: 'What agents pay for each window, against the gas that opens, renews and meters it. Everything is read from the ledger.',
    body: read === undefined ? NOTHING_READ : windowsSection(read),
  }
}

const NOTHING_READ = html`<section><p class="note warn">Nothing was read yet: the ledger or its mirror node does not answer, or has too many requests. Load the page again in a minute.</p></section>`

function windowsSection({
  isComplete,
  isOld,
  periodSeconds,
  readAtSeconds,
  windows,
}: SellerWindows): Html {
  const earned = windows.map(({ earnedTinybar }) => earnedTinybar)
  const spent = windows.map(spentTinybar)
  const length = timeWords(periodSeconds)
  const totals = `earned ${formatHbar(sum(earned))}, spent ${formatHbar(sum(spent))}`
  const label = `Earnings and costs of the last ${windows.length} windows: ${totals}. The table has every figure.`
  return html`<section aria-labelledby="windows-title"><h2 id="windows-title">The last ${windows.length} windows of ${length}, as of ${momentElement(readAtSeconds)}</h2>
${isOld && html`<p class="note warn">The ledger or its mirror node does not answer now: this is what was read at ${momentText(readAtSeconds)}.</p>`}
${!isComplete && html`<p class="note warn">Not everything is read yet: load the page again.</p>`}
<figure class="plot card">
<svg class="bar tall" viewBox="0 0 ${windows.length * 10} 100" preserveAspectRatio="none" role="img" aria-label="${label}">${columns(earned, spent)}</svg>
<figcaption class="hint">Above the line what was earned, at most ${formatHbar(most(earned))}; below it what was spent on gas, at most ${formatHbar(most(spent))}. The newest window is last, and not over.</figcaption>
</figure>
</section>
<section><h2 id="table-title">The same in figures</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="table-title"><table>
<thead><tr><th scope="col">From, in HBAR</th><th scope="col" class="number">Earned</th><th scope="col" class="number">Renewals</th><th scope="col" class="number">Forwards and records</th><th scope="col" class="number">Left</th></tr></thead>
<tbody>${windows.toReversed().map(row)}</tbody>
</table></div></section>`
}

function row(window: SellerWindow): Html {
  const { earnedTinybar, gasTinybar, renewalsTinybar, startsAtSeconds } = window
  const amounts = [
    earnedTinybar,
    renewalsTinybar,
    gasTinybar,
    earnedTinybar - spentTinybar(window),
  ].map((tinybar) => html`<td class="number">${hbar(tinybar)}</td>`)
  return html`<tr><th scope="row">${momentElement(startsAtSeconds)}</th>${amounts}</tr>`
}

/** To what a screen shows. */
const round = (length: number): number => Math.round(length * 100) / 100

/** Both on one scale, so that what is longer is more. */
function columns(earned: readonly bigint[], spent: readonly bigint[]): readonly Html[] {
  const [up, down] = [Number(most(earned)), Number(most(spent))]
  const tinybarHeight = 98 / Math.max(1, up + down)
  const zero = round(1 + up * tinybarHeight)
  return [
    ...earned.map((tinybar, at) => {
      const height = round(Number(tinybar) * tinybarHeight)
      return html`<rect class="up" x="${at * 10 + 1}" y="${zero - height}" width="8" height="${height}"/>`
    }),
    ...spent.map(
      (tinybar, at) =>
        html`<rect class="down" x="${at * 10 + 1}" y="${zero}" width="8" height="${round(Number(tinybar) * tinybarHeight)}"/>`,
    ),
    html`<rect class="middle-line" x="0" y="${zero - 0.3}" width="${earned.length * 10}" height="0.6"/>`,
  ]
}
