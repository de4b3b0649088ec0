/**
 * The record that the body of `POST /write` makes (care.md, C8): the schema of wire/write.ts, plus the rules that a
 * schema cannot express. Signatures, tokens and the store are decided elsewhere.
 */
import { parseIsoTime } from '@tallystick/service-kit/clock'
import { readLanguageTag } from '../wire/language-tag.ts'
import { isWritableName, normalName } from '../wire/record-uri.ts'
import { isSeen, isWritableLine, isWritableValue } from '../wire/text-of-others.ts'
import { writeBody } from '../wire/write.ts'
import { TEXT_BYTES_MAX } from '../wire/write-limits.ts'
import type { NewRecord } from './care-record.ts'

type WriteFields =
  | {
      readonly kind: 'valid'
      readonly record: NewRecord
      /** The version that the writer saw. */
      readonly expectedVersion: number | undefined
    }
  /** `authorId` if the body has one that could stand in a record. */
  | { readonly kind: 'invalid'; readonly authorId: string | null }

const holdsLoneSurrogate = (body: object): boolean =>
  Object.values(body).some((value) => typeof value === 'string' && !value.isWellFormed())

function readableAuthor(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('authorId' in body)) return null
  const { authorId } = body
  return typeof authorId === 'string' && authorId !== '' && authorId.isWellFormed()
    ? authorId
    : null
}

/** Whose write it is, on the bearer path. */
type Bearer = {
  /** The token's `sub`, which is the author unless the body names one. */
  readonly sub: string
  /** If the body may name nobody else (C33): whose name is shown, judged by the label that it gives (C46). */
  readonly ownLabel?: ((claimed: string | undefined) => string | undefined) | undefined
}

const isShort = (text: string): boolean => Buffer.byteLength(text) <= TEXT_BYTES_MAX

/**
 * Judges a parsed body; there is no `bearer` on the signed path. A record that names no language is in the service's `language`, if
 * there is one, and stays in it when the service's changes (C37).
 */
export function readWriteFields(body: unknown, bearer?: Bearer, language?: string): WriteFields {
  const invalid: WriteFields = { kind: 'invalid', authorId: readableAuthor(body) }
  const parsed = writeBody.safeParse(body)
  if (!parsed.success || holdsLoneSurrogate(parsed.data)) return invalid
  const { authorLabel, staleAfter, priority } = parsed.data
  const [patient, domain] = [normalName(parsed.data.patient), normalName(parsed.data.domain)]
  const value = parsed.data.value ?? ''
  const status = parsed.data.status ?? undefined
  // Either a sentence or a withdrawal: a value beside one could be taken for what holds (C40).
  if ((value === '') !== (status !== undefined)) return invalid
  // A sentence that nobody sees or hears would take one back and say nothing.
  if (value !== '' && !isSeen(value)) return invalid
  if (!isWritableName(patient) || !isWritableName(domain) || !isWritableValue(value)) return invalid
  if (typeof staleAfter === 'string' && parseIsoTime(staleAfter) === undefined) return invalid
  const named = parsed.data.language ?? undefined
  const tag = named === undefined ? language : readLanguageTag(named)
  if (named !== undefined && tag === undefined) return invalid
  const authorId = parsed.data.authorId || bearer?.sub
  if (authorId === undefined || !authorId.isWellFormed()) return invalid
  const isHeld = bearer?.ownLabel !== undefined
  if (isHeld && authorId !== bearer.sub) return invalid
  const claimed = authorLabel || undefined
  const label = isHeld ? bearer.ownLabel?.(claimed) : (claimed ?? authorId)
  if (label === undefined) return invalid
  if (![patient, domain, authorId, authorLabel ?? ''].every(isShort)) return invalid
  if (![authorId, claimed ?? '', label].every(isWritableLine)) return invalid
  if (![authorId, label].every(isSeen)) return invalid
  const audience = parsed.data.audience === 'assistant' ? 'assistant' : 'user'
  const written = { patient, domain, audience, value, authorId, authorLabel: label } as const
  const expectedVersion = parsed.data.expectedVersion ?? undefined
  // What is withdrawn has a language already.
  if (status !== undefined) {
    const record = { ...written, status, ...(named !== undefined && { language: tag }) }
    return { kind: 'valid', expectedVersion, record }
  }
  return {
    kind: 'valid',
    expectedVersion,
    record: {
      ...written,
      language: tag,
      staleAfter: staleAfter ?? undefined,
      // JSON's 1e999 parses to infinity, which JSON cannot write back.
      priority: typeof priority === 'number' && Number.isFinite(priority) ? priority : undefined,
    },
  }
}
