/** `POST /write`, and the row that each write leaves in the audit trail. */
import { z } from 'zod'
import { WITHDRAWALS } from './records.ts'

const filled = () => z.string().min(1)

/** The body of a write; other members are ignored. domain/write-fields.ts has the rules that a schema cannot express. */
export const writeBody = z.looseObject({
  patient: filled().describe(
    'Subject: one plain line, kept in Unicode’s NFC: no `/` or `|`, not `.` or `..`, no hidden character, no other space than U+0020 and none around it, no full width. Public through /verify: use a pseudonym.',
  ),
  domain: filled().describe('Topic: under the same rules.'),
  value: z
    .string()
    .nullish()
    .describe(
      'The sentence; required, unless the write withdraws the record. Of control characters it may hold line breaks and tabs, and none that turns text (U+202A–E, U+2066–9).',
    ),
  status: z
    .enum(WITHDRAWALS)
    .nullish()
    .describe(
      'Withdraws the record, as entered in error or as about another person: a version without a value, so `value` must be absent or empty; `staleAfter` and `priority` are ignored. Without such a record: 409 `nothing_to_withdraw`. With a token, on an internal record, it needs the scope that reads it.',
    ),
  audience: z
    .unknown()
    .optional()
    .describe(
      '`assistant` gives an internal record; anything else or absent is `user`. With `care.write:<patient>` alone an internal record also needs the scope that reads it.',
    ),
  authorId: z
    .string()
    .optional()
    .describe('Required with a signature; with a bearer token its `sub` is the default.'),
  authorLabel: z
    .string()
    .nullish()
    .describe(
      'Display label, one line, as the writer claims it; defaults to `authorId`. With a token and BEARER_AUTHOR=sub the token or the operator decides, and another’s label is refused.',
    ),
  staleAfter: z
    .string()
    .nullish()
    .describe('ISO 8601 date, or date and time with a zone; after it the record is stale.'),
  priority: z.unknown().optional().describe('Ignored if not a number.'),
  language: z
    .string()
    .nullish()
    .describe(
      'BCP 47 tag of what the value is written in, such as `de` or `pt-BR`; defaults to LANGUAGE.',
    ),
  expectedVersion: z
    .int()
    .min(0)
    .nullish()
    .describe(
      'The version that the writer has seen, 0 for none; if the record is at another one, nothing is written: 409 `version_conflict`. With a token, on an internal record, it needs the scope that reads it.',
    ),
})

/** What to ask the writer. */
const warning = z.object({
  reason: z.enum(['alike_names']),
  names: z
    .array(z.string())
    .describe(
      'Existing patients, or topics of this one, that differ from the new name only in case, accents or letters that look alike, as far as the writer may know of them.',
    ),
})

/** The 200. */
export const writeAnswer = z.object({
  uri: z.string().describe('The chain’s URI, the one that hosts subscribe to.'),
  version: z.int().min(1),
  versionHash: z.string().describe('SHA-256, lower-case hex; /doc/verify has the hashed bytes.'),
  writtenAt: z.string().describe('ISO 8601, by the server’s clock.'),
  subscribers: z.int().min(0).describe('Sessions subscribed to that URI.'),
  notified: z.boolean(),
  silent: z
    .int()
    .min(0)
    .describe(
      'Of the subscribed sessions, those without a stream for over SILENT_SECONDS as this is answered: they hear of it when they come back.',
    ),
  warning: warning.optional().describe('On the first version of a record: was another one meant?'),
})

export type WriteAnswer = z.infer<typeof writeAnswer>

/** A row of the audit trail. It never holds a credential, a MAC, a token or a value. */
const auditRow = z.object({
  /** ISO 8601. */
  at: z.string(),
  outcome: z.enum(['accepted', 'rejected']),
  /** `ok`, `repeated` for a signed write that was sent again (no new version), or why the write was refused (C15). */
  reason: z.enum([
    'ok',
    'repeated',
    'body_too_large',
    'missing_timestamp',
    'stale_timestamp',
    'bad_signature',
    'missing_signature',
    'insufficient_scope',
    'malformed_body',
    'invalid_fields',
    'store_rejected',
  ]),
  via: z.enum(['hmac', 'bearer', 'none']),
  /** Null until the writer is verified. */
  actor: z.string().nullable(),
  /** On accepted writes. */
  uri: z.string().optional(),
})

export type AuditRow = z.infer<typeof auditRow>

/** A row with its position in the trail, from 1 in order of arrival; `before` counts by it. */
export type KeptAuditRow = AuditRow & { readonly sequence: number }
