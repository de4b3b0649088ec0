/** The method page. Every number on it comes from `workedCase`, computed when the service starts. */
import { SHARP_SCORE_MODEL } from '@tallystick/odds'
import { type Html, html, type Page } from '@tallystick/service-kit/pages'
import { gradedSummary } from '../domain/grading/grade-pick.ts'
import { percent, signed, signedPercent } from './figures.ts'
import { CASE_CLOSE, workedCase } from './worked-case.ts'

type Case = ReturnType<typeof workedCase>

function closeTable({ rows, booksum, exponent }: Case): Html {
  const cells = rows.map(
    (
      row,
    ) => html`<tr><th scope="row">${row.selection}</th><td class="number">${row.close.toFixed(2)}</td><td class="number">${percent(row.implied, 2)}</td><td class="number">${percent(row.fair, 2)}</td><td class="number">${(1 / row.fair).toFixed(3)}</td></tr>
`,
  )
  return html`<div class="scroll" tabindex="0" role="region" aria-label="The close and its fair prices"><table>
<thead><tr><th scope="col">Selection</th><th scope="col" class="number">Close</th><th scope="col" class="number">1 / close</th><th scope="col" class="number">Fair chance</th><th scope="col" class="number">Fair price</th></tr></thead>
<tbody>${cells}</tbody>
<tfoot><tr><th scope="row">Sum</th><td></td><td class="number">${percent(booksum, 2)}</td><td class="number">${percent(1, 2)}</td><td></td></tr></tfoot>
</table></div>
<p>The closing chances sum to ${percent(booksum, 2)}: the excess over 100 % is the bookmaker’s margin. The power method removes it by raising each 1 / close to the one power that makes them sum to 100 %, here ${exponent.toFixed(4)}: long shots give up more of it than favourites, as they do in real results.</p>`
}

function bandTable({ bands, won }: Case): Html {
  const rows = bands.map(({ band, from, below }) => {
    const value = Number.isFinite(from)
      ? `${signedPercent(from, 0)} or more`
      : `below ${signedPercent(below, 0)}`
    return html`<tr${band === won.band && html` class="here"`}><th scope="row"><span class="letter small" data-band="${band}">${band}</span></th><td>${value}</td></tr>
`
  })
  return html`<table class="narrow"><thead><tr><th scope="col">Grade</th><th scope="col">Value against the fair close</th></tr></thead><tbody>${rows}</tbody></table>`
}

function methodTable({ methods }: Case): Html {
  const rows = methods.map(
    ({ method, fair }) =>
      html`<tr><th scope="row" class="mono">${method}</th><td class="number">${signedPercent(fair, 2)}</td></tr>
`,
  )
  return html`<table class="narrow"><thead><tr><th scope="col">Margin taken out by</th><th scope="col" class="number">Value of the pick</th></tr></thead><tbody>${rows}</tbody></table>`
}

function caseSection(shown: Case): Html {
  const { taken, won, draw, drawTaken, rows } = shown
  const close = CASE_CLOSE[0]
  const fair = rows[0]?.fair ?? 0
  const units = taken - 1
  const summary = gradedSummary({
    scoreboard: { status: 'won', return_units: units, score: '2-1' },
    grade: won,
    taken: String(taken),
    close,
    isSynthetic: false,
    isUnconfirmed: false,
  })
  return html`<section aria-labelledby="case-title" class="stack">
<h2 id="case-title">One case, worked through</h2>
<p>You back the home side at <strong>${taken.toFixed(2)}</strong>. It wins 2–1. At the start, the last prices were ${CASE_CLOSE.map((price) => price.toFixed(2)).join(', ')}.</p>
<div class="sides" role="group" aria-label="Two results of one bet">
<div class="side"><h3>Scoreboard</h3><p class="big good">Won</p><p>${signed(units)} units, 2–1</p></div>
<div class="side"><h3>Closing line</h3><p class="big"><span class="letter" data-band="${won.band}">${won.band}</span></p><p>${signedPercent(won.fair)} at the fair close</p></div>
</div>
<h3>First, the close without its margin</h3>
${closeTable(shown)}
<h3>Then, what your price was worth</h3>
<ol class="steps">
<li>Against the close itself: ${taken.toFixed(2)} / ${close.toFixed(2)} − 1 = <strong>${signedPercent(won.price, 2)}</strong>. This is the price value; it does not see the margin.</li>
<li>Against the fair close: ${taken.toFixed(2)} × ${percent(fair, 2)} − 1 = <strong>${signedPercent(won.fair, 2)}</strong>. This is the fair value: what one unit at your price returns on average, if the fair close is right.</li>
<li>${signedPercent(won.fair, 2)} is the band <strong>${won.band}</strong>.</li>
</ol>
<p class="said">${summary}</p>
<p>The win was real, and it was the better end of a bad price. Somebody who always takes such prices loses, whatever this match did.</p>
<h3>Beating the close is not enough</h3>
<p>The draw at ${drawTaken.toFixed(2)} beats its close of ${CASE_CLOSE[1].toFixed(2)} by ${signedPercent(draw.price, 2)}. Its fair value is ${signedPercent(draw.fair, 2)}: still a loss, and a <strong>${draw.band}</strong>. That is why the letter stands on the fair value, and why the card shows both.</p>
</section>`
}

function scoreSection({ record: { picks, score, split } }: Case): Html {
  const roi = split.profit / picks.length
  const { priorEdge, priorDeviation, scale } = SHARP_SCORE_MODEL
  const rows = picks.map(
    ({ clv, odds, returnUnits }, index) =>
      html`<tr><th scope="row">${index + 1}</th><td class="number">${odds.toFixed(2)}</td><td>${returnUnits > 0 ? 'won' : 'lost'}</td><td class="number">${signed(returnUnits)}</td><td class="number">${signedPercent(clv, 2)}</td></tr>
`,
  )
  return html`<section aria-labelledby="score-title" class="stack">
<h2 id="score-title">A record: raw return beside the Sharp Score</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Five picks"><table>
<thead><tr><th scope="col">Pick</th><th scope="col" class="number">Odds</th><th scope="col">Result</th><th scope="col" class="number">Units</th><th scope="col" class="number">Fair value</th></tr></thead>
<tbody>${rows}</tbody></table></div>
<div class="sides" role="group" aria-label="Two readings of one record">
<div class="side"><h3>Raw return, flat stakes</h3><p class="big">${signedPercent(roi)}</p><p>${signed(split.profit)} units on ${picks.length}</p></div>
<div class="side"><h3>Sharp Score</h3><p class="big">${score.score.toFixed(1)}<span class="of"> of 100</span></p><p>edge ${signedPercent(score.edge)}, 90 %: ${signedPercent(score.interval.low)} to ${signedPercent(score.interval.high)}</p></div>
</div>
<p>Of the ${signed(split.profit)} units, the prices were worth ${signed(split.edge)}; the other ${signed(split.luck)} were luck. The score starts from a typical payer of the margin (an edge of ${signedPercent(priorEdge, 0)}, give or take ${percent(priorDeviation, 0)}), moves with the mean fair value as picks come in, and lets results count only a little until there are thousands. It is the chance that a normal deviate stays below edge / ${percent(scale, 0)}: no edge is 50, ${signedPercent(scale, 0)} is 84.</p>
</section>`
}

export const methodPage = (): Page => ({
  title: 'Method – Tallystick grading',
  description: 'How a price is graded against the close: one worked case.',
  heading: 'How a price is graded',
  lead: 'The last prices before the start are as good a public forecast of a match as there is. A bet is graded by what its price was worth under that forecast; the result of the match plays no part.',
  body: methodBody(workedCase()),
})

function methodBody(shown: Case): Html {
  return html`${caseSection(shown)}
<section aria-labelledby="bands-title" class="stack">
<h2 id="bands-title">The letters</h2>
${bandTable(shown)}
<p>A price below the recorded close of its own selection never grades above C. Where only that one price is recorded, the same letters stand on the price value, the card says so, and the truth table keeps those picks apart: there, a B still pays the margin.</p>
</section>
<section aria-labelledby="methods-title" class="stack">
<h2 id="methods-title">Does the method matter?</h2>
<p>Five ways to take the margin out, and what the case’s pick is worth under each. The card carries the spread between them, so that a grade near an edge shows itself.</p>
${methodTable(shown)}
</section>
${scoreSection(shown)}
<section aria-labelledby="never-title" class="stack">
<h2 id="never-title">What is never done</h2>
<ul class="plain-list">
<li><strong>No closing price is ever made up.</strong> A market without a recorded close, or with a close on another line only, is answered <span class="mono">UNGRADED</span> with the reason. The call is paid, since the ledger was searched.</li>
<li><strong>No result changes a grade.</strong> The scoreboard comes from the ledger’s results and stands beside the grade.</li>
<li><strong>Nothing is edited.</strong> Closes and results are entries of an append-only ledger; a correction is a new entry, and the truth table follows it.</li>
<li><strong>Nobody steers the truth table by paying.</strong> It counts every recorded price of every selection. Picks committed before their start have a table of their own; picks sent after the start, and audits, are in none.</li>
</ul>
<p><a href="/calibration">Whether the grades come true</a> is there for anybody to see; <a href="/api/methods">the methods with test vectors</a>, too.</p>
</section>`
}
