/** What a read says about a record besides its text, and the notice of a new version. The browser takes its types from here. */
import { z } from 'zod'
import { audience } from './audience.ts'
import { isRecordName } from './record-uri.ts'

/** The name of a patient or a topic, wherever one is given beside a URI: in its normal form (C38). */
export const nameText = z
  .string()
  .normalize('NFC')
  .refine(isRecordName, { error: 'expected a name without "/" and "|"' })
  // The same rule, stated for the API reference.
  .meta({ minLength: 1, pattern: '^[^/|]+$' })

/** Reasons for withdrawing a record; each is a separate action (C40). */
export const WITHDRAWALS = ['entered-in-error', 'wrong-person'] as const

export type Withdrawal = (typeof WITHDRAWALS)[number]

const withdrawal = z.enum(WITHDRAWALS)

/** Set on a version that withdraws its record; such a version has no value. */
export const status = withdrawal.optional().describe('The record is withdrawn, and says nothing')

const version = {
  uri: z.string(),
  version: z.int().min(1),
  versionHash: z.string(),
  prevHash: z.string(),
  writtenAt: z.string(),
  authorId: z.string(),
  authorLabel: z.string(),
  staleAfter: z.string().optional(),
  priority: z.number().optional(),
  /** BCP 47; absent if nobody has said it. */
  language: z.string().optional(),
}

/**
 * The `_meta` of a read (C10), besides `<service>/retraction`, the sentence to say before the value, and `<service>/age`, the age in
 * words for a person.
 */
const recordMeta = z.looseObject({
  ...version,
  audience,
  value: z.string(),
  status,
  stale: z.boolean(),
  /** The newest version, if this one is older. */
  supersededBy: z.int().optional(),
})

export type RecordMeta = z.infer<typeof recordMeta>

/**
 * What a revision notice says: what changed and who changed it, never a value. A notice may be read long after it was
 * sent, and only a read tells what holds then.
 */
const revisionNotice = z.object({
  ...version,
  previousVersion: z.int().nullable(),
  valueChanged: z.boolean(),
})

export type RevisionNotice = z.infer<typeof revisionNotice>
