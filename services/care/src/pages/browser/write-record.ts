/**
 * A write from the form: its fields are checked, the body is signed in the browser and sent. The service gives every
 * refusal the same answer, so the exact words have to come from here; the service's own checks still decide.
 */
import { fetchInTime } from '@tallystick/service-kit/browser'
import {
  areAlike,
  hasLoneSurrogate,
  isRecordName,
  isWritableName,
  normalName,
} from '../../wire/record-uri.ts'
import type { Withdrawal } from '../../wire/records.ts'
import { isSeen, isWritableLine, isWritableValue, lineText } from '../../wire/text-of-others.ts'
import type { WriteAnswer } from '../../wire/write.ts'
import { TEXT_BYTES_MAX, WRITE_BODY_BYTES_MAX } from '../../wire/write-limits.ts'
import { serviceName } from './read-record.ts'
import { countWord, word } from './words.ts'

/** The fields of the form, in its order. */
export const FIELD_NAMES = [
  'patient',
  'domain',
  'value',
  'language',
  'audience',
  'staleAfter',
  'priority',
  'authorId',
  'authorLabel',
] as const

/** As typed: strings, empty if nothing was typed; `staleAfter` is local time, as `2026-03-01T09:30`. */
export type WriteFields = Readonly<Record<(typeof FIELD_NAMES)[number], string>>

/** One sentence for each invalid field. */
export type Problems = Partial<Record<keyof WriteFields | 'secret', string>>

const refuse = (problems: Problems) => ({ kind: 'refused' as const, problems })

/** A write that is ready to be sent. */
export type ReadyWrite = {
  readonly body: string
  /** Signed with the write secret, or sent under a token. */
  readonly by:
    | { readonly timestamp: string; readonly signature: string }
    | { readonly token: string }
}

export type WriteOutcome =
  | { readonly kind: 'accepted'; readonly accepted: WriteAnswer }
  | { readonly kind: 'refused' }
  | { readonly kind: 'conflict' | 'erased' | 'absent' }
  /** Somebody was faster. */
  | { readonly kind: 'outrun'; readonly version: number }
  | { readonly kind: 'failed'; readonly what: string }
  | { readonly kind: 'no-answer' }

/** The service reads ISO 8601 with four-digit years. */
const LAST_YEAR = 9_999
/** Storing a write takes milliseconds; after this long the connection is abandoned, and the same write may be sent again. */
const ANSWER_LIMIT_MS = 15_000

/** What is said of a field that nothing was typed into. */
const REQUIRED = {
  patient: 'patientMissing',
  domain: 'domainMissing',
  value: 'sentenceMissing',
  authorId: 'authorIdMissing',
} as const

const hiddenProblem = (name: string): string | undefined =>
  isWritableName(name) ? undefined : word('hiddenCharacter')

/**
 * Asks whether a name that no record has is another one's, typed otherwise: "Ann or ann?" Told the field and the question;
 * undefined if there is nothing to ask.
 */
export function alikeQuestion(
  { domain, patient }: Pick<WriteFields, 'domain' | 'patient'>,
  known: readonly Names[],
): { readonly field: keyof Names; readonly text: string } | undefined {
  const typed = { patient: normalName(patient), domain: normalName(domain) }
  const ofPatient = known.filter((slot) => slot.patient === typed.patient)
  for (const [field, slots] of [
    ['patient', known],
    ['domain', ofPatient],
  ] as const) {
    if (slots.some((slot) => slot[field] === typed[field])) continue
    const other = slots.find((slot) => areAlike(slot[field], typed[field]))?.[field]
    if (other === undefined) continue
    const text = word('alike', { typed: lineText(typed[field]), other: lineText(other) })
    return { field, text }
  }
  return undefined
}

type Names = { readonly patient: string; readonly domain: string }

function textProblem(
  fields: WriteFields,
  name: keyof typeof REQUIRED | 'authorLabel',
): string | undefined {
  const text = fields[name]
  if (name !== 'authorLabel' && text.trim() === '') return word(REQUIRED[name])
  if (hasLoneSurrogate(text)) return word('halfCharacter')
  if (name === 'value') return isWritableValue(text) ? undefined : word('controlCharacter')
  if (!isWritableLine(text)) return word('notOneLine')
  if (toBytes(text).length > TEXT_BYTES_MAX) return word('tooLong', { max: TEXT_BYTES_MAX })
  if (name === 'authorId' || name === 'authorLabel')
    return text === '' || isSeen(text) ? undefined : word('notOneLine')
  if (!isRecordName(text)) return word('noSlash')
  return text === text.trim() ? hiddenProblem(text) : word('spaceAtEdge')
}

function staleAfterProblem(text: string, nowMs: number): string | undefined {
  if (text === '') return undefined
  const atMs = Date.parse(text)
  if (Number.isNaN(atMs) || new Date(atMs).getUTCFullYear() > LAST_YEAR) return word('notADate')
  return atMs <= nowMs ? word('inThePast') : undefined
}

function priorityProblem(text: string): string | undefined {
  if (text === '') return undefined
  const priority = Number(text)
  return text.trim() !== '' && priority >= 0 && priority <= 1 ? undefined : word('notAPriority')
}

function findProblems(fields: WriteFields, nowMs: number, { status }: WriteAct): Problems {
  const sentence = {
    value: textProblem(fields, 'value'),
    staleAfter: staleAfterProblem(fields.staleAfter, nowMs),
    priority: priorityProblem(fields.priority),
  }
  const found: Record<string, string | undefined> = {
    patient: textProblem(fields, 'patient'),
    domain: textProblem(fields, 'domain'),
    ...(status === undefined && sentence),
    authorId: textProblem(fields, 'authorId'),
    authorLabel: textProblem(fields, 'authorLabel'),
    audience: ['user', 'assistant'].includes(fields.audience) ? undefined : word('audienceMissing'),
  }
  return Object.fromEntries(Object.entries(found).filter(([, problem]) => problem !== undefined))
}

/** What a write is to do besides its fields. */
type WriteAct = {
  /** The version that the writer has seen, 0 for none; undefined if the page does not know. */
  readonly expectedVersion?: number | undefined
  /** To withdraw the record: what is typed as its sentence stays in the form. */
  readonly status?: Withdrawal | undefined
}

function writeBody(fields: WriteFields, { expectedVersion, status }: WriteAct): string {
  const { authorLabel, language, staleAfter, priority, value, ...names } = fields
  const common = {
    ...names,
    authorLabel: authorLabel || undefined,
    language: language || undefined,
    expectedVersion,
  }
  if (status !== undefined) return JSON.stringify({ ...common, status })
  return JSON.stringify({
    ...common,
    value,
    staleAfter: staleAfter === '' ? undefined : new Date(staleAfter).toISOString(),
    priority: priority === '' ? undefined : Number(priority),
  })
}

/** Returns the body to send, or one sentence for each field that the service would refuse. */
export function checkFields(typed: WriteFields, nowMs: number, act: WriteAct = {}) {
  const [patient, domain] = [normalName(typed.patient), normalName(typed.domain)]
  const fields = { ...typed, patient, domain }
  const problems = findProblems(fields, nowMs, act)
  if (Object.keys(problems).length > 0) return refuse(problems)
  const body = writeBody(fields, act)
  const bytes = toBytes(body).length
  if (bytes <= WRITE_BODY_BYTES_MAX) return { kind: 'ready' as const, body }
  const max = WRITE_BODY_BYTES_MAX
  return refuse({ value: countWord('bodyTooLong', bytes - max, { max }) })
}

/** Whether this page can sign: browsers offer WebCrypto only on https and on the local machine's own address. */
export const canSign = (): boolean => globalThis.crypto?.subtle !== undefined

const toBytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

/**
 * Signs a write: lower-case hex of HMAC-SHA256 over the bytes `<timestamp>.<raw body>`; the key is the UTF-8 bytes of the
 * write secret (S3).
 */
export async function signWrite(write: {
  readonly body: string
  readonly timestamp: string
  readonly secret: string
}): Promise<string> {
  const { body, timestamp, secret } = write
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', toBytes(secret), algorithm, false, ['sign'])
  const mac = await crypto.subtle.sign('HMAC', key, toBytes(`${timestamp}.${body}`))
  return Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const senderHeaders = (by: ReadyWrite['by']): Record<string, string> =>
  'token' in by
    ? { authorization: `Bearer ${by.token}` }
    : {
        [`x-${serviceName()}-timestamp`]: by.timestamp,
        [`x-${serviceName()}-signature`]: by.signature,
      }

/**
 * Sends a write. A signed one, sent again unchanged inside its five minutes, gets the first answer and adds no version (C14);
 * one with an expected version is stored once at most.
 */
export async function sendWrite({ body, by }: ReadyWrite): Promise<WriteOutcome> {
  const headers = { 'content-type': 'application/json', ...senderHeaders(by) }
  try {
    const answer = await fetchInTime('/write', { method: 'POST', headers, body }, ANSWER_LIMIT_MS)
    if (answer.ok) return { kind: 'accepted', accepted: await answer.json() }
    if (answer.status === 401) return { kind: 'refused' }
    const refusal: { error?: string; version?: number } = await answer.json().catch(() => ({}))
    const { error = '', version } = refusal
    if (error === 'version_conflict' && version !== undefined) return { kind: 'outrun', version }
    if (error === 'erased') return { kind: 'erased' }
    if (error === 'nothing_to_withdraw') return { kind: 'absent' }
    if (answer.status === 409) return { kind: 'conflict' }
    return { kind: 'failed', what: `${answer.status} ${error}`.trim() }
  } catch {
    return { kind: 'no-answer' }
  }
}

/**
 * How far this computer's clock is ahead of the service's, in seconds (negative: behind), read from the `Date` of an
 * answer; undefined if the service does not answer. Accurate to about a second.
 */
export async function clockAheadSeconds(): Promise<number | undefined> {
  try {
    const answer = await fetchInTime('/health')
    const serverMs = Date.parse(answer.headers.get('date') ?? '')
    return Number.isNaN(serverMs) ? undefined : Math.round((Date.now() - serverMs) / 1_000)
  } catch {
    return undefined
  }
}
