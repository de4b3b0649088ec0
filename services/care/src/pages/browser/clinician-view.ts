/** What the clinician's page shows beside the form: the preview, and the outcome of a write. */
import { actionButton, element, pageElement, put } from '@tallystick/service-kit/browser'
import { retractionSentence, saidBy } from '../../domain/retraction.ts'
import { languageAttributes } from '../../wire/language-tag.ts'
import { elementText } from '../../wire/text-of-others.ts'
import type { WriteAnswer } from '../../wire/write.ts'
import { WRITE_SKEW_SECONDS_MAX } from '../../wire/write-limits.ts'
import { ageLine } from './age-line.ts'
import { type Before, readableUri, valueAttributes } from './read-record.ts'
import { clinicTime, countWord, pageAttributes, word } from './words.ts'
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

/** From here on a clock may be too far off, since the request itself takes seconds. */
const SKEW_SECONDS_NEAR = WRITE_SKEW_SECONDS_MAX - 5

const hint = (text: string): HTMLElement => element('p', { class: 'hint' }, text)
const note = (kind: 'good' | 'bad' | 'warn', text: string): HTMLElement =>
  element('p', { class: `note ${kind}` }, text)

const BEFORE_WORDS = {
  unknown: 'beforeUnknown',
  unnamed: 'beforeUnnamed',
  none: 'beforeNone',
  broken: 'beforeBroken',
  unreachable: 'beforeUnreachable',
} as const

function beforeParts(before: Before): readonly HTMLElement[] {
  if (before.kind === 'refused') return [hint(before.why)]
  if (before.kind !== 'found') return [hint(word(BEFORE_WORDS[before.kind]))]
  const { record, slot } = before
  return [
    element('p', { class: 'said old', ...valueAttributes(record) }, elementText(saidBy(record))),
    element(
      'p',
      { class: 'hint' },
      `${word('versionIs', { version: record.version })} `,
      ageLine('bdi', record),
    ),
    ...(slot.audience === 'assistant' ? [hint(word('internalOnly'))] : []),
  ]
}

/** In whatever language the sentence is. */
const NO_NAME = '…'

/** What an assistant would say after this write: the retraction, if the previous version is known, and the sentence. */
function spokenPreview(draft: Draft): string {
  const { value, audience, authorLabel, before } = draft
  if (value.trim() === '') return word('yourSentence')
  if (audience === 'assistant') return word('nothingAloud')
  const previousValue = before.kind === 'found' ? before.record.value : value
  const { language } = draft
  return (
    retractionSentence({ previousValue, value, authorLabel: authorLabel || NO_NAME, language }) ??
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
  Object.assign(
    pageElement('will-say'),
    isSpoken ? languageAttributes(draft.language) : pageAttributes(),
  )
  const isSame = before.kind === 'found' && value !== '' && before.record.value === value
  const same = isSame ? [hint(word('sameSentence'))] : []
  pageElement('before').replaceChildren(...beforeParts(before), ...same)
}

/** Whom it was sent to. Who hears it at once and who later is as much as the service knows. */
function heardBy({ silent, subscribers }: Pick<WriteAnswer, 'silent' | 'subscribers'>): string {
  if (subscribers === 0) return word('nobodyFollows')
  const sent = countWord('followedBy', subscribers)
  return silent === 0 ? sent : `${sent} ${word('notConnected', { count: silent })}`
}

function acceptedParts(
  accepted: Extract<WriteOutcome, { kind: 'accepted' }>['accepted'],
): readonly HTMLElement[] {
  const { uri, version, versionHash, writtenAt } = accepted
  const written = clinicTime(writtenAt)
  const mono = { class: 'mono' }
  const rows = [
    element('dt', {}, word('storedRecord')),
    element('dd', mono, ...readableUri(uri)),
    element('dt', {}, word('storedVersion')),
    element('dd', {}, String(version)),
    element('dt', {}, word('storedHash')),
    element('dd', mono, versionHash),
    element('dt', {}, word('storedWritten')),
    element('dd', {}, element('time', { datetime: writtenAt }, written)),
  ]
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
  note('bad', word('unexplained')),
  paragraph(lead),
  element('ul', {}, ...findings.map((finding) => element('li', {}, finding))),
]

const tokenRefusedParts = (): readonly HTMLElement[] =>
  unexplained(word('tokenReasons'), [
    word('tokenOver'),
    word('tokenForOthers'),
    word('tokenOtherId'),
  ])

function refusedParts(aheadSeconds: number | undefined): readonly HTMLElement[] {
  const distance = Math.abs(aheadSeconds ?? 0)
  const isClock = distance >= SKEW_SECONDS_NEAR
  const side = (aheadSeconds ?? 0) > 0 ? 'clockAhead' : 'clockLate'
  const clock = isClock
    ? word(side, { distance, max: WRITE_SKEW_SECONDS_MAX })
    : word('clockFine', { distance })
  return unexplained(word('pageCanTell'), [
    word('fieldsFine'),
    aheadSeconds === undefined ? word('clockUnread') : clock,
    word(isClock ? 'secretMayBeRight' : 'secretIsWrong'),
  ])
}

/** For a write that may have been stored. */
const unsure = (why: string): Shown => ({
  title: word('unsure'),
  parts: [note('warn', why), paragraph(word('unsureAdvice'))],
})

/** For a write that was not stored. */
const notStored = (title: string, why: string, advice: string): Shown => ({
  title,
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
      const title = word('stored', { version: accepted.version })
      return { title, parts: acceptedParts(accepted) }
    }
    case 'refused':
      return {
        title: word('refusal'),
        parts: isSigned ? refusedParts(aheadSeconds) : tokenRefusedParts(),
      }
    case 'outrun':
      return notStored(
        word('outrun'),
        word('outrunWhy', { version: outcome.version }),
        word('outrunAdvice'),
      )
    case 'erased':
      return notStored(word('erased'), word('erasedWhy'), word('erasedAdvice'))
    case 'absent':
      return notStored(word('absent'), word('absentWhy'), word('absentAdvice'))
    case 'conflict':
      return notStored(word('conflict'), word('conflictWhy'), word('conflictAdvice'))
    case 'failed':
      return unsure(word('unsureFailed', { what: outcome.what }))
    case 'no-answer':
      return unsure(word('unsureNoAnswer'))
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
  const again = sendAgain === undefined ? [] : [actionButton({}, word('sendAgain'), sendAgain)]
  pageElement('outcome-body').replaceChildren(...parts, ...again)
  put('outcome-title', title)
  pageElement('outcome').hidden = false
  pageElement('outcome-title').focus()
}
