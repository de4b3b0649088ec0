/**
 * What the echo page shows: the latest change in its live region, with the records below. Record text reaches it only as
 * text nodes.
 */
import { actionButton, element, pageElement, pageFact, put } from '@tallystick/service-kit/browser'
import { saidBy } from '../../domain/retraction.ts'
import { elementText } from '../../wire/text-of-others.ts'
import { ageLine, paperLine } from './age-line.ts'
import type { RecordChange } from './follow-records.ts'
import { aroundAttributes, readChain, type ShownRecord, valueAttributes } from './read-record.ts'
import { clinicTime, localeOfPage, word } from './words.ts'

type ToAnnounce = Extract<RecordChange, { kind: 'correction' | 'confirmed' | 'new' | 'withdrawn' }>
type Gone = Extract<RecordChange, { kind: 'broken' | 'gone' }>

/** Records announced in the live region: more than a person takes in after a pause. */
const NEWS_MAX = 20
/** Beyond this, the age of a record says that it was missed, not how fast it arrived. */
const LATE_MS = 60_000

/** How long a change took from the service's clock to this screen. */
function arrivalText(writtenAt: string): string {
  const tookMs = Date.now() - Date.parse(writtenAt)
  if (tookMs < 0) return word('clockBehind')
  if (tookMs < LATE_MS) return word('shownIn', { took: tookMs })
  return word('shownLate', {
    written: clinicTime(writtenAt),
    shown: new Date().toLocaleTimeString(localeOfPage()),
  })
}

/** Whose record it is, and its topic. */
const readNames = (uri: string): { readonly patient: string; readonly domain: string } =>
  readChain(uri) ?? { patient: uri, domain: '' }

const name = (text: string): HTMLElement => element('span', { class: 'name' }, elementText(text))

/** A value, in its language. */
const said = (tag: 'p' | 'q', kind: string, record: ShownRecord): HTMLElement =>
  element(tag, { class: kind, ...valueAttributes(record) }, elementText(saidBy(record)))

/**
 * Puts a message about a record on top of the live region, in one step so that it is announced as a whole. An earlier
 * message about the same record is removed, so that a sentence that no longer holds does not stay.
 */
function putOnTop(uri: string, kind: string, parts: readonly HTMLElement[]): void {
  const log = pageElement('announcement')
  for (const old of log.querySelectorAll(':scope > *'))
    if (old.getAttribute('data-uri') === uri || old.className === 'empty') old.remove()
  log.prepend(element('article', { 'data-uri': uri, 'data-kind': kind }, ...parts))
  while (log.childElementCount > NEWS_MAX) log.lastElementChild?.remove()
  log.scrollTop = 0
}

export function announce(change: ToAnnounce): void {
  const { record, kind } = change
  const { patient, domain } = readNames(record.uri)
  const title = element(
    'p',
    { class: 'which' },
    element('strong', {}, word(kind)),
    ' · ',
    name(patient),
    ' · ',
    name(domain),
    element('span', { class: 'faint' }, ` · ${word('version', { version: record.version })}`),
  )
  putOnTop(record.uri, kind, [
    title,
    // First what holds: a long sentence that is taken back would push it off the screen of a phone.
    said('p', 'said now', record),
    ageLine('p', record),
    ...('previous' in change ? takenBack(change) : []),
  ])
  put('arrival', arrivalText(record.writtenAt))
}

function takenBack({ record, previous }: Extract<ToAnnounce, { readonly previous: object }>) {
  const parts: HTMLElement[] = []
  if (record.version > previous.version + 1)
    parts.push(
      element(
        'p',
        {},
        `${word('lastShown', { version: previous.version })} `,
        said('q', 'said', previous),
      ),
    )
  if (record.retraction !== undefined)
    parts.push(
      element(
        'p',
        { class: 'said retraction', ...aroundAttributes(record.language) },
        record.retraction,
      ),
    )
  return parts
}

/** Says that a record must no longer be spoken. */
export function announceGone({ uri, kind }: Gone): void {
  const { patient, domain } = readNames(uri)
  const names = name(`${patient} · ${domain} `)
  putOnTop(uri, kind, [element('p', { class: 'note bad' }, names, word(kind))])
  put('arrival', '')
}

function recordCard(record: ShownRecord): HTMLElement {
  return element(
    'li',
    { 'data-uri': record.uri },
    element(
      'p',
      { class: 'title' },
      element('strong', { class: 'name' }, elementText(readNames(record.uri).domain)),
      element('span', { class: 'faint' }, word('version', { version: record.version })),
    ),
    said('p', 'said', record),
    ageLine('p', record),
    paperLine(record),
  )
}

const findCard = (uri: string): Element | undefined =>
  [...document.querySelectorAll('#records li')].find(
    (card) => card.getAttribute('data-uri') === uri,
  )

/** Inserts a child among its siblings in the order of an attribute. */
function insertInOrder(parent: Element, child: Element, attribute: string): void {
  const readValue = (node: Element): string => node.getAttribute(attribute) ?? ''
  parent.insertBefore(
    child,
    [...parent.children].find((other) => readValue(other) > readValue(child)) ?? null,
  )
}

/** Prints the list of this person alone. */
function printAlone(group: Element): void {
  group.classList.add('printed')
  pageElement('records').classList.add('printed-alone')
  print()
  group.classList.remove('printed')
  pageElement('records').classList.remove('printed-alone')
}

/** Whose lists these are and of when, at the head of each; only paper shows it. */
export function showOnPaper(asOf: string): void {
  const clinic = pageFact('clinic')
  const words = clinic === '' ? asOf : `${clinic}. ${asOf}`
  for (const place of document.querySelectorAll('#records .as-of'))
    if (place.textContent !== words) place.textContent = words
}

function findList(patient: string): Element {
  const groups = pageElement('records')
  const found = [...groups.children].find((node) => node.getAttribute('data-patient') === patient)
  const known = found?.querySelector('ul')
  if (known != null) return known
  const list = element('ul', { class: 'records' })
  const heading = element('h3', { class: 'name' }, elementText(patient))
  const print = actionButton({ class: 'small' }, word('print'), () => printAlone(group))
  const title = element('div', { class: 'title' }, heading, print)
  const paper = element('p', { class: 'on-paper as-of' })
  const group = element(
    'section',
    { class: 'patient', 'data-patient': patient },
    title,
    paper,
    list,
  )
  insertInOrder(groups, group, 'data-patient')
  return list
}

/** Shows the newest version of a record in its place. */
export function showRecord(record: ShownRecord, isChange: boolean): void {
  const card = recordCard(record)
  if (isChange) card.classList.add('changed')
  const old = findCard(record.uri)
  if (old === undefined) insertInOrder(findList(readNames(record.uri).patient), card, 'data-uri')
  // Unchanged text is left alone: somebody may be reading or selecting it.
  else if (isChange || old.textContent !== card.textContent) old.replaceWith(card)
}

export function removeRecord(uri: string): void {
  const card = findCard(uri)
  const list = card?.parentElement
  card?.remove()
  if (list?.childElementCount === 0) list.closest('.patient')?.remove()
}

/** Clears what an earlier token allowed to be seen. */
export function clearRecords(): void {
  pageElement('records').replaceChildren()
  const nothing = element('p', { class: 'empty' }, word('noCorrection'))
  pageElement('announcement').replaceChildren(nothing)
  put('arrival', '')
}
