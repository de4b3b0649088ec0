/** What the echo page shows: the latest change in its live region, the records below it. Texts of records reach it as text nodes only. */
import { element, pageElement } from './page-element.js'
import { parseChainUri } from './record-uri.js'

/** @typedef {import('./read-record.js').ShownRecord} ShownRecord */
/** @typedef {import('./follow-records.js').RecordChange} RecordChange */

const KIND_WORDS = { correction: 'Correction', confirmed: 'Confirmed unchanged', new: 'New record' }
/** Records that the live region tells of: more than a person takes in after a pause. */
const NEWS_MAX = 20
/** Beyond this, how long ago a record was written says that it was missed, not how fast it came. */
const LATE_MS = 60_000

/** @param {string} text */
const said = (text) => element('q', { class: 'said', dir: 'auto' }, text)

/**
 * How long a change took from the service's clock to this screen.
 *
 * @param {{ writtenAt: string, nowMs: number }} times
 */
export function arrivalText({ writtenAt, nowMs }) {
  const tookMs = nowMs - Date.parse(writtenAt)
  if (tookMs < 0) return 'Shown at once (this computer’s clock is behind the service’s).'
  if (tookMs < LATE_MS) return `Shown ${tookMs} ms after it was written.`
  return `Written ${new Date(writtenAt).toLocaleString()}; shown now.`
}

/**
 * The title of a record: its topic, and whose it is.
 *
 * @param {string} uri
 */
function recordName(uri) {
  const { patient, domain } = parseChainUri(uri) ?? { patient: uri, domain: '' }
  return { patient, domain }
}

/** @param {ShownRecord} record */
function ageLine(record) {
  const kind = record.isStale ? 'note warn name' : 'hint name'
  return element('p', { class: kind, dir: 'auto' }, record.ageLine)
}

/**
 * Puts something about a record on top of the live region, in one go so that it is announced as a whole. What stood there
 * about the same record is taken out: a sentence that no longer holds is not left standing.
 *
 * @param {{ uri: string, kind: string, parts: readonly HTMLElement[] }} news
 */
function putOnTop({ uri, kind, parts }) {
  const log = pageElement('announcement', HTMLElement)
  for (const old of log.querySelectorAll(':scope > *'))
    if (old.getAttribute('data-uri') === uri || old.className === 'empty') old.remove()
  log.prepend(element('article', { 'data-uri': uri, 'data-kind': kind }, ...parts))
  while (log.childElementCount > NEWS_MAX) log.lastElementChild?.remove()
  log.scrollTop = 0
}

/**
 * Announces a change.
 *
 * @param {Extract<RecordChange, { kind: 'correction' | 'confirmed' | 'new' }>} change
 */
export function announce(change) {
  const { record, kind } = change
  const { patient, domain } = recordName(record.uri)
  const title = element(
    'p',
    { class: 'which' },
    element('strong', {}, KIND_WORDS[kind]),
    ' · ',
    element('span', { class: 'name' }, patient),
    ' · ',
    element('span', { class: 'name' }, domain),
    element('span', { class: 'faint' }, ` · version ${record.version}`),
  )
  const parts = [title]
  if (kind === 'correction') parts.push(...takenBack(change))
  parts.push(element('p', { class: 'said now', dir: 'auto' }, record.value), ageLine(record))
  putOnTop({ uri: record.uri, kind, parts })
  const arrival = arrivalText({ writtenAt: record.writtenAt, nowMs: Date.now() })
  pageElement('arrival', HTMLElement).textContent = arrival
}

/** @param {{ record: ShownRecord, previous: ShownRecord }} correction */
function takenBack({ record, previous }) {
  const parts = []
  if (record.version > previous.version + 1)
    parts.push(
      element('p', {}, `Last shown here was version ${previous.version}: `, said(previous.value)),
    )
  if (record.retraction !== undefined)
    parts.push(element('p', { class: 'said retraction', dir: 'auto' }, record.retraction))
  return parts
}

/**
 * Says that a record must not be spoken any more.
 *
 * @param {{ uri: string, kind: 'broken' | 'gone' }} change
 */
export function announceWithdrawn({ uri, kind }) {
  const { patient, domain } = recordName(uri)
  const name = element('span', { class: 'name' }, `${patient} · ${domain} `)
  const why =
    kind === 'broken'
      ? 'is not served: what is stored does not hold, or the service failed. It is not said.'
      : 'can no longer be read with this token. It is not said.'
  putOnTop({ uri, kind, parts: [element('p', { class: 'note bad' }, name, why)] })
  pageElement('arrival', HTMLElement).textContent = ''
}

/** @param {ShownRecord} record */
function recordCard(record) {
  const { domain } = recordName(record.uri)
  return element(
    'li',
    { 'data-uri': record.uri },
    element(
      'p',
      { class: 'title' },
      element('strong', { class: 'name' }, domain),
      element('span', { class: 'faint' }, `version ${record.version}`),
    ),
    element('p', { class: 'said', dir: 'auto' }, record.value),
    ageLine(record),
  )
}

/** @param {string} uri */
const cardOf = (uri) =>
  [...document.querySelectorAll('#records li')].find(
    (card) => card.getAttribute('data-uri') === uri,
  )

/** @param {string} patient */
function listOf(patient) {
  const groups = pageElement('records', HTMLElement)
  const sections = /** @type {HTMLElement[]} */ ([...groups.children])
  const found = sections.find((group) => group.dataset.patient === patient)
  if (found !== undefined) return found.querySelector('ul')
  const list = element('ul', { class: 'records' })
  const heading = element('h3', { class: 'name' }, patient)
  const group = element('section', { class: 'patient', 'data-patient': patient }, heading, list)
  const next = sections.find((other) => (other.dataset.patient ?? '') > patient)
  groups.insertBefore(group, next ?? null)
  return list
}

/**
 * Shows the newest version of a record in its place.
 *
 * @param {ShownRecord} record
 * @param {boolean} isChange
 */
export function showRecord(record, isChange) {
  const card = recordCard(record)
  if (isChange) card.classList.add('changed')
  const old = cardOf(record.uri)
  // What reads the same is left alone: somebody may be reading or selecting it.
  if (!isChange && old?.textContent === card.textContent) return undefined
  if (old !== undefined) return old.replaceWith(card)
  const list = listOf(recordName(record.uri).patient)
  const next = [...(list?.children ?? [])].find(
    (other) => (other.getAttribute('data-uri') ?? '') > record.uri,
  )
  return list?.insertBefore(card, next ?? null)
}

/** @param {string} uri */
export function removeRecord(uri) {
  const card = cardOf(uri)
  const list = card?.parentElement
  card?.remove()
  if (list?.childElementCount === 0) list.closest('.patient')?.remove()
}

/** Clears what an earlier token let be seen. */
export function clearRecords() {
  pageElement('records', HTMLElement).replaceChildren()
  const nothing = 'Nothing has been corrected since this page began to listen.'
  const empty = element('p', { class: 'empty' }, nothing)
  pageElement('announcement', HTMLElement).replaceChildren(empty)
  pageElement('arrival', HTMLElement).textContent = ''
}
