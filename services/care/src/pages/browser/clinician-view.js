/** What the clinician's page shows beside the form: the preview, and what came of a write. */
import { element, pageElement } from './page-element.js'
import { retractionSentence } from './retraction.js'

/** @typedef {import('./clinician-preview.js').Before} Before */
/** @typedef {import('./send-write.js').WriteOutcome} WriteOutcome */

/** Signed writes are taken within 300 s of the service's clock, either way (care.md, Limits). */
const SKEW_SECONDS_MAX = 300

/** @param {...(Node | string)} content */
const paragraph = (...content) => element('p', {}, ...content)
/** @param {string} text */
const hint = (text) => element('p', { class: 'hint' }, text)

/** @param {string} text */
const item = (text) => element('li', {}, text)

/** @param {Extract<Before, { kind: 'found' }>} before */
function foundParts({ record, slot }) {
  return [
    element('p', { class: 'said old', dir: 'auto' }, record.value),
    element(
      'p',
      { class: 'hint name', dir: 'auto' },
      `Version ${record.version} ${record.ageLine}`,
    ),
    ...(slot.audience === 'assistant' ? [hint('Internal: for assistants only.')] : []),
  ]
}

/** @param {Before} before */
function beforeParts(before) {
  switch (before.kind) {
    case 'unknown':
      return [hint('Not known here: this page has no token to read it with.')]
    case 'none':
      return [hint('None that this token may read: yours would be version 1.')]
    case 'broken':
      return [hint('It does not hold: what is stored differs from its hash, so it is not shown.')]
    case 'refused':
      return [hint(`The service refused the token: ${before.why}.`)]
    case 'unreachable':
      return [hint('The service does not answer just now.')]
    case 'found':
      return foundParts(before)
    default:
      return []
  }
}

/**
 * What an assistant would say after this write: the retraction, where the version before is known, and the sentence.
 *
 * @param {{ value: string, audience: string, authorLabel: string, before: Before }} draft
 */
export function spokenPreview({ value, audience, authorLabel, before }) {
  if (value.trim() === '') return 'Your sentence, once you have written it.'
  if (audience === 'assistant') return 'Nothing aloud: assistants only read it.'
  const previousValue = before.kind === 'found' ? before.record.value : value
  return retractionSentence({ previousValue, value, authorLabel: authorLabel || 'you' }) ?? value
}

/** @param {{ value: string, audience: string, authorLabel: string, before: Before }} draft */
export function showPreview(draft) {
  const { before, value } = draft
  pageElement('will-say', HTMLElement).textContent = spokenPreview(draft)
  const isSame = before.kind === 'found' && before.record.value === value
  const same = isSame ? [hint('Your sentence is the same: it would confirm this one.')] : []
  pageElement('before', HTMLElement).replaceChildren(...beforeParts(before), ...same)
}

/** @param {number} subscribers */
function heardBy(subscribers) {
  if (subscribers === 0)
    return 'No session was following it. Assistants get it with their next read.'
  return subscribers === 1 ? 'One session heard of it.' : `${subscribers} sessions heard of it.`
}

/** @param {number | undefined} aheadSeconds */
function clockFinding(aheadSeconds) {
  if (aheadSeconds === undefined) return 'The service’s clock could not be read.'
  const distance = Math.abs(aheadSeconds)
  const side = aheadSeconds > 0 ? 'ahead of' : 'behind'
  return distance >= SKEW_SECONDS_MAX - 5
    ? `This computer’s clock is ${distance} s ${side} the service’s; more than ${SKEW_SECONDS_MAX} s is refused. Set the clock.`
    : `This computer’s clock is right enough (${distance} s off).`
}

/**
 * @param {Extract<WriteOutcome, { kind: 'accepted' }>['accepted']} accepted
 */
function acceptedParts({ uri, version, versionHash, writtenAt, subscribers }) {
  const facts = /** @type {const} */ ([
    ['Record', uri],
    ['Version', String(version)],
    ['Hash', versionHash],
    ['Written', writtenAt],
  ])
  return [
    element('p', { class: 'note good' }, element('strong', {}, heardBy(subscribers))),
    element(
      'dl',
      { class: 'facts' },
      ...facts.flatMap(([name, value]) => [
        element('dt', {}, name),
        element('dd', { class: 'mono' }, value),
      ]),
    ),
  ]
}

/** @param {number | undefined} aheadSeconds */
function refusedParts(aheadSeconds) {
  const isClock = aheadSeconds !== undefined && Math.abs(aheadSeconds) >= SKEW_SECONDS_MAX - 5
  return [
    element(
      'div',
      { class: 'note bad' },
      paragraph('The service refused it and, by design, does not say why. Nothing was stored.'),
    ),
    paragraph('What this page can tell:'),
    element(
      'ul',
      {},
      item('The fields are as the service wants them.'),
      item(clockFinding(aheadSeconds)),
      item(isClock ? 'The secret may be right.' : 'So the write secret is most likely wrong.'),
    ),
  ]
}

/** @param {string} why */
const unsureParts = (why) => [
  element('p', { class: 'note warn' }, why),
  paragraph('Sending the same again is safe for five minutes: it cannot be stored twice.'),
]

const conflictParts = () => [
  element(
    'p',
    { class: 'note bad' },
    'This record exists for the other audience, which is fixed with its first version.',
  ),
  paragraph('Choose the other audience, or another topic.'),
]

/**
 * @param {WriteOutcome} outcome
 * @param {number | undefined} aheadSeconds
 */
function outcomeParts(outcome, aheadSeconds) {
  switch (outcome.kind) {
    case 'accepted':
      return {
        title: `Version ${outcome.accepted.version} is stored`,
        parts: acceptedParts(outcome.accepted),
      }
    case 'refused':
      return { title: 'Refused', parts: refusedParts(aheadSeconds) }
    case 'conflict':
      return { title: 'Not stored: the audience differs', parts: conflictParts() }
    case 'failed': {
      const why = `The service could not do it (${outcome.what}).`
      return { title: 'Not confirmed', parts: unsureParts(why) }
    }
    case 'no-answer': {
      const why = 'No answer came. It may or may not be stored.'
      return { title: 'Not confirmed', parts: unsureParts(why) }
    }
    default:
      throw new Error(`An outcome without words: ${JSON.stringify(outcome)}`)
  }
}

/**
 * Shows what came of a write and moves the focus to it.
 *
 * @param {{ outcome: WriteOutcome, aheadSeconds: number | undefined, sendAgain: (() => void) | undefined }} result
 */
export function showOutcome({ outcome, aheadSeconds, sendAgain }) {
  const { title, parts } = outcomeParts(outcome, aheadSeconds)
  if (sendAgain !== undefined) {
    const button = element('button', { type: 'button' }, 'Send the same again')
    button.addEventListener('click', sendAgain)
    parts.push(button)
  }
  const heading = pageElement('outcome-title', HTMLElement)
  heading.textContent = title
  pageElement('outcome-body', HTMLElement).replaceChildren(...parts)
  pageElement('outcome', HTMLElement).hidden = false
  heading.focus()
}
