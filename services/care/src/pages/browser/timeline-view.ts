/** What the timeline shows of each version: what it did, what it says, and who read it. */
import { element, pageElement } from '@tallystick/service-kit/browser'
import { retractionSentence, saidBy } from '../../domain/retraction.ts'
import type { ReadShown } from '../../wire/reads.ts'
import { type ChainSlot, chainUri, parseRecordUri } from '../../wire/record-uri.ts'
import { elementText, lineText } from '../../wire/text-of-others.ts'
import { ageLine } from './age-line.ts'
import { aroundAttributes, type ShownRecord, valueAttributes } from './read-record.ts'
import { nameOfPrincipal } from './sign-in.ts'
import { clinicTime, countWord, word } from './words.ts'

export type VersionRead =
  | { readonly kind: 'found'; readonly record: ShownRecord }
  /** The newest one's number is not known where it does not hold. */
  | { readonly kind: 'broken' | 'absent'; readonly version?: number }

/** Who read a version, each with the first time that is kept. */
type Heard = ReadonlyMap<number, ReadonlyMap<string, string>>

/** Readers named of one version: a household's assistants and a few people. */
const READERS_MAX = 8

/** `reads` are the newest first. */
export function heardVersions(reads: readonly ReadShown[], slot: ChainSlot): Heard {
  const heard = new Map<number, Map<string, string>>()
  for (const { actor, at, label, outcome, uri } of reads) {
    const read = parseRecordUri(uri)
    if (outcome !== 'served' || read?.version === undefined) continue
    if (chainUri(read.slot) !== chainUri(slot)) continue
    const readers = heard.get(read.version) ?? new Map<string, string>()
    readers.set(nameOfPrincipal(label ?? actor), at)
    heard.set(read.version, readers)
  }
  return heard
}

function heardLine(readers: ReadonlyMap<string, string>): HTMLElement {
  const named = [...readers].slice(0, READERS_MAX).map(([who, at]) => `${who} (${clinicTime(at)})`)
  const more = readers.size - named.length
  const who = [...named, ...(more > 0 ? [countWord('andMore', more)] : [])].join(', ')
  return element('p', { class: 'hint name' }, word('readBy', { who }))
}

type Did = 'begun' | 'corrected' | 'confirmed' | 'withdrawn' | 'written'

/** What a version did to the one before it, which may not be known here. */
function didWhat(record: ShownRecord, before: VersionRead | undefined): Did {
  if (record.status !== undefined) return 'withdrawn'
  if (record.version === 1) return 'begun'
  if (before?.kind !== 'found') return 'written'
  return before.record.value === record.value ? 'confirmed' : 'corrected'
}

/** What was said to take back the version before it; nothing is said of internal records. */
function takenBack(record: ShownRecord, before: VersionRead | undefined): string | undefined {
  if (before?.kind !== 'found' || parseRecordUri(record.uri)?.slot.audience !== 'user')
    return undefined
  return retractionSentence({ ...record, previousValue: before.record.value })
}

function versionItem(read: VersionRead, before: VersionRead | undefined, heard: Heard) {
  if (read.kind !== 'found') {
    const words = element('p', { class: 'note bad' }, word('doesNotHold'))
    return element('li', { 'data-kind': 'broken' }, words)
  }
  const { record } = read
  const { authorLabel, language, version, writtenAt } = record
  const did = didWhat(record, before)
  const readers = heard.get(version)
  const retraction = takenBack(record, before)
  return element(
    'li',
    { 'data-kind': did },
    element('time', { datetime: writtenAt }, clinicTime(writtenAt)),
    element('strong', { class: 'name' }, word(did, { version, author: lineText(authorLabel) })),
    element('p', { class: 'said', ...valueAttributes(record) }, elementText(saidBy(record))),
    retraction !== undefined &&
      element('p', { class: 'said hint', ...aroundAttributes(language) }, retraction),
    readers !== undefined && heardLine(readers),
  )
}

/** Newest first; returns the number of the oldest. */
export function showTimeline(versions: readonly VersionRead[], heard: Heard): number {
  const items = versions.map((read, at) => {
    const item = versionItem(read, versions[at + 1], heard)
    if (read.kind !== 'found') return item
    const newest = versions[0]
    if (at === 0) item.append(ageLine('p', read.record))
    else if (newest?.kind === 'found')
      item.append(
        element('p', { class: 'hint' }, word('replacedBy', { version: newest.record.version })),
      )
    return item
  })
  pageElement('timeline').replaceChildren(...items)
  const oldest = versions.at(-1)
  return (oldest?.kind === 'found' ? oldest.record.version : oldest?.version) ?? 1
}
