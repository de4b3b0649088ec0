/** How old a record is, on a page that stays open: true of the moment at which it is looked at (C37, C39). */
import { element, pageFact } from '@tallystick/service-kit/browser'
import { ageWords, isStale } from '../../domain/staleness.ts'
import { lineText } from '../../wire/text-of-others.ts'
import { dayText } from './list-age.ts'
import { aroundAttributes, type ShownRecord } from './read-record.ts'
import { word } from './words.ts'

/** How often ages are looked at. */
export const AGE_MS = 1_000

/** By the clinic's calendar; by the reader's, where an older browser does not know the zone. */
function wordsAt(record: ShownRecord, unixMs: number): string {
  try {
    return ageWords(record, unixMs, pageFact('time-zone'))
  } catch {
    return ageWords(record, unixMs, new Intl.DateTimeFormat().resolvedOptions().timeZone)
  }
}

/** What the service said, whose clock counts, until a day has ended since, or the review date has passed. */
export function ageAt(record: ShownRecord, nowMs: number): Pick<ShownRecord, 'age' | 'isStale'> {
  const age = wordsAt(record, nowMs)
  return age === wordsAt(record, record.readAtMs)
    ? record
    : { age, isStale: isStale(record, nowMs) }
}

/** What keeps each line true. */
const lines = new WeakMap<Element, () => void>()

function keepTrue(line: HTMLElement, show: () => void): HTMLElement {
  lines.set(line, show)
  show()
  return line
}

/** Its age, for a screen. */
export function ageLine(tag: 'p' | 'bdi', record: ShownRecord): HTMLElement {
  const line = element(tag, aroundAttributes(record.language))
  return keepTrue(line, () => {
    const { age, isStale: isOld } = ageAt(record, Date.now())
    const kind = `age name ${isOld ? 'note warn' : 'hint'}`
    if (line.className !== kind) line.className = kind
    if (line.textContent !== age) line.textContent = age
  })
}

/** Its day and author, and whether it is past review, for paper, which is read on another day. */
export function paperLine(record: ShownRecord): HTMLElement {
  const { authorLabel, writtenAt } = record
  const date = dayText(Date.parse(writtenAt))
  const written = word('writtenOn', { date, author: lineText(authorLabel) })
  const line = element('p', { class: 'on-paper' })
  return keepTrue(line, () => {
    const { isStale: isOld } = ageAt(record, Date.now())
    const words = isOld ? `${written} ${word('pastReview')}` : written
    if (line.textContent !== words) line.textContent = words
  })
}

/** Makes all lines of the page true again. */
export function refreshAges(): void {
  for (const line of document.querySelectorAll('.age, .on-paper')) lines.get(line)?.()
}
