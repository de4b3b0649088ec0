// The entry that a write leaves in its journal (C9): RFC 8785 JSON of every field of the record, plus 32 random bytes
// that keep the leaf's hash from being guessed. A store keeps only this text for a version. The version's hashed preimage
// (C8) is cut out of it, since both write strings exactly as ECMAScript's JSON.stringify does: so a stored version is checked by
// itself.
import { canonicalJson, preimageHash, versionHash } from '@tallystick/hashchain'
import { z } from 'zod'
import { AUDIENCES } from '../wire/audience.ts'
import { isTagShaped } from '../wire/language-tag.ts'
import { type ChainSlot, isRecordName } from '../wire/record-uri.ts'
import { WITHDRAWALS } from '../wire/records.ts'
import type { VersionFault } from '../wire/verify.ts'
import type { CareRecord, NewRecord } from './care-record.ts'

/** A record with random bytes that are shown only together with it: 64 lower-case hex digits. */
type JournalEntry = CareRecord & { readonly random: string }

export const ENTRY_RANDOM_BYTES = 32

/** A version hash and the random part: 32 bytes in lower-case hex. */
const HEX_CHARS = 64
const HEX_PATTERN = /^[0-9a-f]{64}$/
/** What `Date.prototype.toISOString` writes for the years 0 to 9999. */
const TIME_PATTERN = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/
const TIME_CHARS = 24
/** RFC 9162 §2.1.1: a leaf is hashed after one zero byte. */
const LEAF_PREFIX = '\u0000'

/** The text of an entry; its UTF-8 bytes are the journal's leaf. */
export function writeJournalEntry(entry: JournalEntry): string {
  const { audience, authorId, authorLabel, domain, language, patient, prevHash, priority } = entry
  const { random, staleAfter, status, value, version, versionHash: hash, writtenAt } = entry
  return canonicalJson({
    audience,
    authorId,
    authorLabel,
    domain,
    ...(language === undefined ? {} : { language }),
    patient,
    prevHash,
    ...(priority === undefined ? {} : { priority }),
    random,
    ...(staleAfter === undefined ? {} : { staleAfter }),
    ...(status === undefined ? {} : { status }),
    value,
    version,
    versionHash: hash,
    writtenAt,
  })
}

/** Throws a TypeError for a record that no version may hold; routes refuse such fields earlier. */
export function requireStorable(record: NewRecord): void {
  if (!isRecordName(record.patient) || !isRecordName(record.domain))
    throw new TypeError(
      'patient and domain are well-formed, not empty and hold neither "/" nor "|"',
    )
  const texts = [record.value, record.authorId, record.authorLabel, record.staleAfter ?? '']
  if (!texts.every((text) => text.isWellFormed()))
    throw new TypeError('a record holds no lone surrogate')
  if (record.language !== undefined && !isTagShaped(record.language))
    throw new TypeError('a language is a BCP 47 tag')
  if ((record.value === '') !== (record.status !== undefined))
    throw new TypeError('a record has a value, or says why it is withdrawn')
  if (record.priority !== undefined && !Number.isFinite(record.priority))
    throw new TypeError('a priority is a finite number')
}

/** The entry that follows a version with `prevHash`, including its computed version hash. */
export function nextEntry(options: {
  readonly record: NewRecord
  readonly prevHash: string
  readonly version: number
  readonly writtenAt: string
  readonly random: string
}): JournalEntry {
  const { record, prevHash, version, writtenAt, random } = options
  const { value, authorId } = record
  const hash = versionHash({ prevHash, value, writtenAt, authorId })
  return { ...record, writtenAt, version, prevHash, random, versionHash: hash }
}

/** In the order of RFC 8785, so that what it gives is written again as fast as can be. */
const journalEntry: z.ZodType<JournalEntry> = z.strictObject({
  audience: z.enum(AUDIENCES),
  authorId: z.string(),
  authorLabel: z.string(),
  domain: z.string().refine(isRecordName),
  language: z.string().refine(isTagShaped).optional(),
  patient: z.string().refine(isRecordName),
  prevHash: z.string().regex(HEX_PATTERN),
  priority: z.number().optional(),
  random: z.string().regex(HEX_PATTERN),
  staleAfter: z.string().optional(),
  status: z.enum(WITHDRAWALS).optional(),
  value: z.string(),
  version: z.int().min(1),
  versionHash: z.string().regex(HEX_PATTERN),
  writtenAt: z.string(),
})

/** Reads an entry strictly: undefined for any text that `writeJournalEntry` would not write. */
export function readJournalEntry(text: string): JournalEntry | undefined {
  try {
    const { data } = journalEntry.safeParse(JSON.parse(text))
    if (data === undefined || (data.value === '') !== (data.status !== undefined)) return undefined
    return writeJournalEntry(data) === text ? data : undefined
  } catch {
    return undefined // no JSON, or half a surrogate pair from an escape
  }
}

/** The record without the random part, as served. */
export function readRecord(entry: JournalEntry): CareRecord {
  const { random: _, ...record } = entry
  return record
}

/** Lower-case hex RFC 9162 leaf hash of an entry's text. */
export function entryLeafHash(text: string): string {
  return preimageHash(LEAF_PREFIX + text)
}

/** What a replay needs from an entry, cut out of its text without parsing it. */
type EntryCut = {
  readonly prevHash: string
  readonly versionHash: string
  readonly writtenAt: string
  /** The text that hashes to `versionHash` (C8). */
  readonly preimage: string
  readonly priority: number | undefined
  readonly language: string | undefined
  /** Whether the version withdraws the record: nothing else has an empty value (C40). */
  readonly isWithdrawal: boolean
}

/** Cuts entries of one chain; undefined for a text from another slot or in another form. */
type EntryCutter = (text: string, version: number) => EntryCut | undefined

/**
 * A cutter for the entries of a chain. A member's name between `,"` and `":` never occurs inside a string, where quotes
 * are escaped, so searching for it finds the member. Members stand in RFC 8785 order.
 */
export function createEntryCutter({ patient, domain, audience }: ChainSlot): EntryCutter {
  const start = `{"audience":"${audience}","authorId":`
  const domainMember = `,"domain":${JSON.stringify(domain)}`
  const patientMember = `,"patient":${JSON.stringify(patient)},"prevHash":"`
  return (text, version) => {
    if (!text.startsWith(start)) return undefined
    const authorEnd = text.indexOf(',"authorLabel":', start.length)
    const domainStart = text.indexOf(domainMember, authorEnd)
    if (authorEnd < 0 || domainStart < 0) return undefined
    const domainEnd = domainStart + domainMember.length
    const language = languageAt(text, domainEnd)
    const patientStart =
      domainEnd + (language === undefined ? 0 : LANGUAGE_NAME.length + language.length + 1)
    if (!text.startsWith(patientMember, patientStart)) return undefined
    const prevHashStart = patientStart + patientMember.length
    const prevHashEnd = prevHashStart + HEX_CHARS
    const priority = priorityAt(text, prevHashEnd + 1)
    const valueName = ',"value":'
    const valueStart = text.indexOf(valueName, prevHashEnd) + valueName.length
    const versionMember = `,"version":${version},"versionHash":"`
    const timeName = '","writtenAt":"'
    const timeStart = text.length - TIME_CHARS - 2
    const hashStart = timeStart - timeName.length - HEX_CHARS
    const valueEnd = hashStart - versionMember.length
    const prevHash = text.slice(prevHashStart, prevHashEnd)
    const writtenAt = text.slice(timeStart, -2)
    if (
      valueStart < prevHashEnd ||
      valueEnd < valueStart ||
      !text.startsWith(versionMember, valueEnd) ||
      !text.startsWith(timeName, timeStart - timeName.length) ||
      !text.endsWith('"}') ||
      !TIME_PATTERN.test(writtenAt)
    )
      return undefined
    const author = text.slice(start.length, authorEnd)
    const value = text.slice(valueStart, valueEnd)
    return {
      prevHash,
      versionHash: text.slice(hashStart, hashStart + HEX_CHARS),
      writtenAt,
      preimage: `["${prevHash}",${value},"${writtenAt}",${author}]`,
      priority,
      language,
      isWithdrawal: value === '""',
    }
  }
}

const LANGUAGE_NAME = ',"language":"'

/** The language that an entry names at a place: a tag, which has nothing to escape. */
function languageAt(text: string, at: number): string | undefined {
  if (!text.startsWith(LANGUAGE_NAME, at)) return undefined
  const start = at + LANGUAGE_NAME.length
  return text.slice(start, text.indexOf('"', start))
}

/** The priority that an entry names at a place; it stands right before the random part. */
function priorityAt(text: string, at: number): number | undefined {
  const name = ',"priority":'
  if (!text.startsWith(name, at)) return undefined
  const priority = Number(text.slice(at + name.length, text.indexOf(',"random":', at)))
  return Number.isFinite(priority) ? priority : undefined
}

/** A version as a store keeps it. */
export type StoredVersion = {
  readonly version: number
  /** The entry's text in the clear; undefined if sealed bytes do not open. */
  readonly entry: string | undefined
  /** Lower-case hex leaf hash stored in the journal. */
  readonly leafHash: string
  /** The time stored beside the entry. */
  readonly writtenAt?: string
}

/** The checks that need no other version, and what remains to compare with the previous one. */
type LoneVersion =
  | ({ readonly kind: 'holds' } & Omit<EntryCut, 'preimage' | 'writtenAt'>)
  | { readonly kind: 'broken'; readonly fault: VersionFault }

/** Checks a stored version by itself: seal, leaf, slot, hash. */
export function createVersionCheck(slot: ChainSlot): (stored: StoredVersion) => LoneVersion {
  const cut = createEntryCutter(slot)
  return ({ entry, leafHash, version, writtenAt }) => {
    if (entry === undefined) return { kind: 'broken', fault: 'seal' }
    if (entryLeafHash(entry) !== leafHash) return { kind: 'broken', fault: 'leaf' }
    const parts = cut(entry, version)
    if (parts === undefined) return { kind: 'broken', fault: 'slot' }
    if (writtenAt !== undefined && writtenAt !== parts.writtenAt)
      return { kind: 'broken', fault: 'leaf' }
    if (preimageHash(parts.preimage) !== parts.versionHash) return { kind: 'broken', fault: 'hash' }
    const { isWithdrawal, language, prevHash, priority } = parts
    const { versionHash: hash } = parts
    return { kind: 'holds', isWithdrawal, prevHash, versionHash: hash, priority, language }
  }
}
