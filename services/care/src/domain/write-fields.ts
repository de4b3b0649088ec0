/**
 * The field rules of `POST /write` (care.md, C8): one schema that both validates and documents the body, and the record
 * that comes of it. Signatures, tokens and the store are not looked at here.
 */
import { hasLoneSurrogate } from '@tallystick/hashchain'
import { z } from 'zod'
import type { NewRecord } from './care-record.ts'
import { isoTimeMs } from './iso-time.ts'
import { audioUri, isRecordName, RECORD_URI_CHARS_MAX } from './record-uri.ts'

const filled = () => z.string().min(1)

/** The longest version number that a URI takes: a chain whose URIs could not be read later is not begun. */
const VERSION_MAX = 999_999_999_999_999

/** The body of a write. Members that it does not name are ignored. */
export const writeBody = z.looseObject({
  patient: filled()
    .refine(isRecordName)
    .describe('Subject: not empty, no `/` or `|`. Public through /verify: use a pseudonym.'),
  domain: filled().refine(isRecordName).describe('Topic: not empty, no `/` or `|`.'),
  value: filled().describe('The sentence.'),
  audience: z
    .unknown()
    .optional()
    .describe('`assistant` gives an internal record; anything else or absent is `user`.'),
  authorId: z
    .string()
    .optional()
    .describe('Required with a signature; with a bearer token its `sub` is the default.'),
  authorLabel: z.string().nullish().describe('Display label; defaults to `authorId`.'),
  staleAfter: z
    .string()
    .refine((text) => isoTimeMs(text) !== undefined)
    .nullish()
    .describe('ISO 8601 date, or date and time with a zone; after it the record is stale.'),
  priority: z.unknown().optional().describe('Ignored if not a number.'),
})

export type WriteFields =
  | { readonly kind: 'valid'; readonly record: NewRecord }
  /** `authorId` where the body names one that could stand in a record. */
  | { readonly kind: 'invalid'; readonly authorId: string | null }

const holdsLoneSurrogate = (body: object): boolean =>
  Object.values(body).some((value) => typeof value === 'string' && hasLoneSurrogate(value))

function readableAuthor(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('authorId' in body)) return null
  const { authorId } = body
  return typeof authorId === 'string' && authorId !== '' && authorId.isWellFormed()
    ? authorId
    : null
}

/** Judges a parsed body. `defaultAuthorId` is the token's `sub` on the bearer path, absent on the signed one. */
export function readWriteFields(body: unknown, defaultAuthorId?: string): WriteFields {
  const invalid: WriteFields = { kind: 'invalid', authorId: readableAuthor(body) }
  const parsed = writeBody.safeParse(body)
  if (!parsed.success || holdsLoneSurrogate(parsed.data)) return invalid
  const { patient, domain, value, authorLabel, staleAfter, priority } = parsed.data
  const authorId = parsed.data.authorId || defaultAuthorId
  if (authorId === undefined || hasLoneSurrogate(authorId)) return invalid
  const audience = parsed.data.audience === 'assistant' ? 'assistant' : 'user'
  const slot = { patient, domain, audience } as const
  if (audioUri(slot, VERSION_MAX).length > RECORD_URI_CHARS_MAX) return invalid
  return {
    kind: 'valid',
    record: {
      ...slot,
      value,
      authorId,
      authorLabel: authorLabel || authorId,
      ...(typeof staleAfter === 'string' ? { staleAfter } : {}),
      // JSON's 1e999 parses to infinity, which JSON cannot say again.
      ...(typeof priority === 'number' && Number.isFinite(priority) ? { priority } : {}),
    },
  }
}
