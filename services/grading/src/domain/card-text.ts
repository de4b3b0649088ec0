/** Cards as JSON text. Cards share most of their text, which is written once; `JSON.stringify` gives the same text. */
import { getOrMake } from '@tallystick/service-kit'
import type { AuditAnswer } from '../wire/audit.ts'
import type { Card, GradedCard } from '../wire/cards.ts'

const texts = new WeakMap<object, string>()

/** The text of a part that cards share and that never changes. */
const sharedText = (part: object): string => getOrMake(texts, part, () => JSON.stringify(part))

/** Marks a close as shared between cards; returns it. */
export function sharedPart(close: GradedCard['close']): GradedCard['close'] {
  sharedText(close)
  return close
}

/** Texts that JSON does not escape; most are. */
const PLAIN = /^[ !#-[\]-~]*$/

const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

function pickText({ market, selection, event, ref, own }: Card['pick']): string {
  const eventText = event === undefined ? '' : `,"event":${sharedText(event)}`
  const refText = ref === undefined ? '' : `,"ref":${quoted(ref)}`
  const ownText = own === undefined ? '' : `,"own":${JSON.stringify(own)}`
  return `{"market":${quoted(market)},"selection":${quoted(selection)}${eventText}${refText}${ownText}}`
}

function clvText({ price, fair, log, points, beat_close }: GradedCard['clv']): string {
  const values = fair === undefined ? '' : `,"fair":${fair},"log":${log},"points":${points}`
  return `{"price":${price}${values},"beat_close":${beat_close}}`
}

function takenText({ odds, text, line }: GradedCard['taken']): string {
  return `{"odds":${odds},"text":"${text}"${line === undefined ? '' : `,"line":${line}`}}`
}

function scoreboardText(scoreboard: GradedCard['scoreboard']): string {
  if (scoreboard.status === 'pending') return '{"status":"pending"}'
  const { status, return_units, score } = scoreboard
  return `{"status":"${status}","return_units":${return_units}${score === undefined ? '' : `,"score":"${score}"`}}`
}

function gradedText(card: GradedCard): string {
  const { method_spread: spread, receipt } = card
  return `{"outcome":"GRADED","grade":"${card.grade}","basis":"${card.basis}","pick":${pickText(card.pick)},"clv":${clvText(card.clv)},"taken":${takenText(card.taken)},"price_seen":${card.price_seen},"close":${sharedText(card.close)},"scoreboard":${scoreboardText(card.scoreboard)},"calibration":${sharedText(card.calibration)}${spread === undefined ? '' : `,"method_spread":${spread}`},"grade_margin":${card.grade_margin},"flags":${sharedText(card.flags)},"summary":${quoted(card.summary)},"counted":${sharedText(card.counted)}${receipt === undefined ? '' : `,"receipt":"${receipt}"`}}`
}

export function cardText(card: Card): string {
  const isOurs = card.outcome === 'GRADED' && texts.has(card.close) && card.taken.pays === undefined
  return isOurs ? gradedText(card) : JSON.stringify(card)
}

/** An audit's text in pieces, card by card: a thousand of them are megabytes. */
export function* auditPieces({ picks, ...sums }: AuditAnswer): Generator<string> {
  yield `${JSON.stringify(sums).slice(0, -1)},"picks":[`
  for (const [place, card] of picks.entries()) yield `${place === 0 ? '' : ','}${cardText(card)}`
  yield ']}'
}
