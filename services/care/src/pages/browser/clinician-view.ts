/** What the clinician's page shows beside the form: the preview, and the outcome of a write. */
import { actionButton, element, pageElement, put } from '@tallystick/service-kit/browser'
import { retractionSentence, saidBy } from '../../domain/retraction.ts'
import { languageAttributes } from '../../wire/language-tag.ts'
import { elementText } from '../../wire/text-of-others.ts'
import type { WriteAnswer } from '../../wire/write.ts'
import { WRITE_SKEW_SECONDS_MAX } from '../../wire/write-limits.ts'
import { aroundAttributes, type Before, readableUri, valueAttributes } from './read-record.ts'
import type { WriteOutcome } from './write-record.ts'

/** What is about to be written, and what is stored before it. */
type Draft = {
  readonly value: string
  readonly audience: string
  readonly authorLabel: string
  /** Of what is about to be written, if anybody has said it. */
  readonly language: string | undefined
  readonly before: Before
}

/** What the page itself says. */
const ENGLISH = { lang: 'en', dir: 'ltr' }

/** From here on a clock may be too far off, since the request itself takes seconds. */
const SKEW_SECONDS_NEAR = WRITE_SKEW_SECONDS_MAX - 5

const hint = (text: string): HTMLElement => element('p', { class: 'hint' }, text)
const note = (kind: 'good' | 'bad' | 'warn', text: string): HTMLElement =>
  element('p', { class: `note ${kind}` }, text)

const BEFORE_WORDS = {
  unknown: 'Not known here: this page has no token to read it with.',
  none: 'None that this token may read: yours would be version 1.',
  broken: 'It does not hold: what is stored differs from its hash, so it is not shown.',
  unreachable: 'Not known: the service did not answer.',
}

function beforeParts(before: Before): readonly HTMLElement[] {
  if (before.kind === 'refused') return [hint(`The service refused the token: ${before.why}.`)]
  if (before.kind !== 'found') return [hint(BEFORE_WORDS[before.kind])]
  const { record, slot } = before
  return [
    element('p', { class: 'said old', ...valueAttributes(record) }, elementText(saidBy(record))),
    element(
      'p',
      { class: 'hint' },
      `Version ${record.version}. `,
      element('bdi', aroundAttributes(record.language), record.ageLine),
    ),
    ...(slot.audience === 'assistant' ? [hint('Internal: for assistants only.')] : []),
  ]
}

/** What an assistant would say after this write: the retraction, if the previous version is known, and the sentence. */
function spokenPreview(draft: Draft): string {
  const { value, audience, authorLabel, before } = draft
  if (value.trim() === '') return 'Your sentence, once you have written it.'
  if (audience === 'assistant') return 'Nothing aloud: assistants only read it.'
  const previousValue = before.kind === 'found' ? before.record.value : value
  const { language } = draft
  return (
    retractionSentence({ previousValue, value, authorLabel: authorLabel || 'you', language }) ??
    value
  )
}

export function showPreview(draft: Draft): void {
  const { before, value } = draft
  // Without a token the page does not know whether there is one: the service does.
  pageElement('withdraw').hidden =
    before.kind === 'none' || (before.kind === 'found' && before.record.status !== undefined)
  put('will-say', spokenPreview(draft))
  const isSpoken = value.trim() !== '' && draft.audience !== 'assistant'
  Object.assign(pageElement('will-say'), isSpoken ? languageAttributes(draft.language) : ENGLISH)
  const isSame = before.kind === 'found' && value !== '' && before.record.value === value
  const same = isSame ? [hint('Your sentence is the same: it would confirm this one.')] : []
  pageElement('before').replaceChildren(...beforeParts(before), ...same)
}

/** Whom it was sent to. Who hears it at once and who later is as much as the service knows. */
function heardBy({ silent, subscribers }: Pick<WriteAnswer, 'silent' | 'subscribers'>): string {
  if (subscribers === 0)
    return 'No session was following it. Assistants get it with their next read.'
  const sent = subscribers === 1 ? 'One session follows it.' : `${subscribers} sessions follow it.`
  if (silent === 0) return sent
  return `${sent} Not connected: ${silent}. What does not listen hears of it only when it comes back.`
}

function acceptedParts(
  accepted: Extract<WriteOutcome, { kind: 'accepted' }>['accepted'],
): readonly HTMLElement[] {
  const { uri, version, versionHash, writtenAt } = accepted
  const facts = {
    Record: readableUri(uri),
    Version: [String(version)],
    Hash: [versionHash],
    Written: [element('time', { datetime: writtenAt }, new Date(writtenAt).toLocaleString())],
  }
  const rows = Object.entries(facts).flatMap(([name, parts]) => [
    element('dt', {}, name),
    element('dd', { class: 'mono' }, ...parts),
  ])
  return [
    element(
      'p',
      { class: accepted.silent > 0 ? 'note warn' : 'note good' },
      element('strong', {}, heardBy(accepted)),
    ),
    element('dl', { class: 'facts' }, ...rows),
  ]
}

const paragraph = (text: string): HTMLElement => element('p', {}, text)

/** The service does not say why it refused. */
const unexplained = (lead: string, findings: readonly string[]): readonly HTMLElement[] => [
  note('bad', 'The service refused it and, by design, does not say why. Nothing was stored.'),
  paragraph(lead),
  element('ul', {}, ...findings.map((finding) => element('li', {}, finding))),
]

const tokenRefusedParts = (): readonly HTMLElement[] =>
  unexplained('With a token, it is one of these:', [
    'The token has expired or was revoked: sign in again.',
    'It may not publish for this person.',
    'The service wants your own id, as it stands in your token, and another one was given.',
  ])

function refusedParts(aheadSeconds: number | undefined): readonly HTMLElement[] {
  const distance = Math.abs(aheadSeconds ?? 0)
  const isClock = distance >= SKEW_SECONDS_NEAR
  const side = (aheadSeconds ?? 0) > 0 ? 'ahead of' : 'behind'
  const clock = isClock
    ? `This computer’s clock is ${distance} s ${side} the service’s; more than ${WRITE_SKEW_SECONDS_MAX} s is refused. Set the clock.`
    : `This computer’s clock is accurate enough (${distance} s off).`
  return unexplained('What this page can tell:', [
    'The fields are as the service requires.',
    aheadSeconds === undefined ? 'The service’s clock could not be read.' : clock,
    isClock ? 'The secret may be right.' : 'So the write secret is most likely wrong.',
  ])
}

/** For a write that may have been stored. */
const unsure = (why: string): Shown => ({
  title: 'Not confirmed',
  parts: [
    note('warn', why),
    paragraph('Where it can be sent again below, it cannot be stored twice.'),
  ],
})

/** For a write that was not stored. */
const notStored = (because: string, why: string, advice: string): Shown => ({
  title: `Not stored: ${because}`,
  parts: [note('bad', why), paragraph(advice)],
})

type Sender = {
  /** With the write secret, not with a token. */
  readonly isSigned: boolean
  /** How far this computer's clock is off, if that may have mattered. */
  readonly aheadSeconds: number | undefined
}

type Shown = { readonly title: string; readonly parts: readonly HTMLElement[] }

function outcomeParts(outcome: WriteOutcome, { isSigned, aheadSeconds }: Sender): Shown {
  switch (outcome.kind) {
    case 'accepted': {
      const { accepted } = outcome
      return { title: `Version ${accepted.version} is stored`, parts: acceptedParts(accepted) }
    }
    case 'refused':
      return {
        title: 'Refused',
        parts: isSigned ? refusedParts(aheadSeconds) : tokenRefusedParts(),
      }
    case 'outrun':
      return notStored(
        'somebody was faster',
        `Somebody was faster: version ${outcome.version} is there now, and yours was not stored.`,
        'The page shows what holds now. Your sentence is still here: read, then decide.',
      )
    case 'erased':
      return notStored(
        'erased',
        'This record was erased. It takes no further version; nothing was stored.',
        'Choose another topic.',
      )
    case 'absent':
      return notStored(
        'there is no such record',
        'There is no such record for this audience, so nothing was withdrawn.',
        'Look at the person, the topic and who may hear it.',
      )
    case 'conflict':
      return notStored(
        'the audience differs',
        'This record exists for the other audience, which is fixed with its first version.',
        'Choose the other audience, or another topic.',
      )
    case 'failed':
      return unsure(`The service could not do it (${outcome.what}).`)
    case 'no-answer':
      return unsure('No answer came. It may or may not be stored.')
    default:
      return outcome satisfies never
  }
}

/** Shows the outcome of a write and moves the focus to it. */
export function showOutcome(
  result: Sender & {
    readonly outcome: WriteOutcome
    readonly sendAgain: (() => void) | undefined
  },
): void {
  const { outcome, sendAgain } = result
  const { title, parts } = outcomeParts(outcome, result)
  const again = sendAgain === undefined ? [] : [actionButton({}, 'Send the same again', sendAgain)]
  pageElement('outcome-body').replaceChildren(...parts, ...again)
  put('outcome-title', title)
  pageElement('outcome').hidden = false
  pageElement('outcome-title').focus()
}
