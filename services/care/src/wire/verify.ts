/** `GET /verify` and the routes below it: queries, answers and the lines of an export. */
import { z } from 'zod'
import { audience } from './audience.ts'
import { uriExample } from './examples.ts'

/** The `uri` filter; given twice it names nothing. */
export const uriQuery = z.object({
  uri: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .meta({
      description: 'A record’s URI: its chain is meant, whichever version the URI names.',
      examples: [uriExample],
    }),
})

const journalQuery = z.object({
  journal: z
    .enum(audience.options, { error: 'user or assistant' })
    .default('user')
    .meta({ description: 'That of assistant records needs their scope.', examples: ['user'] }),
})

const wholeNumber = (meta: { readonly description: string; readonly examples?: string[] }) =>
  z
    .string()
    .regex(/^(?:0|[1-9]\d{0,14})$/, { error: 'a whole number' })
    .meta(meta)
    .transform(Number)
    .optional()

export const checkpointQuery = journalQuery.extend({
  cosigned: z
    .enum(['yes', 'no'], { error: 'yes or no' })
    .default('no')
    .meta({
      description: '`yes`: the newest one that a witness has cosigned, with its lines.',
      examples: ['no'],
    }),
})

export const proofQuery = journalQuery
  .extend({
    oldSize: wholeNumber({
      description: 'Asks for the proof that so many entries are a prefix of `size`.',
      examples: ['1'],
    }),
    index: wholeNumber({
      description: 'Asks for the proof that this entry, from 0, is among `size`.',
    }),
    uri: z
      .string()
      .optional()
      .meta({ description: 'The same for a record’s version; needs a token that may read it.' }),
    size: wholeNumber({
      description: 'Entries of the journal: those of a checkpoint; by default all.',
      examples: ['1'],
    }),
  })
  .refine(
    ({ oldSize, index, uri }) =>
      [oldSize, index, uri].filter((field) => field !== undefined).length === 1,
    { error: 'one of oldSize, index and uri' },
  )

const size = z.int().min(0)
const ofJournal = {
  journal: audience,
  origin: z.string().describe('What the journal’s checkpoints begin with.'),
  size,
  rootHash: z.string().describe('Of `size` entries; hold it against a signed checkpoint.'),
  proof: z.array(z.string()).describe('In the order of RFC 9162, lower-case hex.'),
}

/** A proof of RFC 9162 (C9). */
export const proofAnswer = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('consistency'),
    ...ofJournal,
    oldSize: size,
    oldRootHash: z.string(),
  }),
  z.object({
    kind: z.literal('inclusion'),
    ...ofJournal,
    index: size,
    leafHash: z.string().optional().describe('With `uri`.'),
  }),
])

export type ProofAnswer = z.infer<typeof proofAnswer>

/** Who cosigned the journal of speakable records. */
export const witnessesAnswer = z.object({
  origin: z.string(),
  verifierKey: z.string().describe('Checks the journal’s own signature.'),
  size: size.describe('Entries now.'),
  checkpoint: z
    .string()
    .optional()
    .describe('The newest checkpoint that a witness has cosigned, a C2SP note.'),
  witnesses: z.array(
    z.object({
      name: z.string(),
      size: z.int().optional().describe('Of the newest checkpoint that it cosigned here.'),
      cosignedAt: z.string().optional(),
      problem: z
        .enum(['unreachable', 'refused', 'bad_answer', 'forked', 'rolled_back'])
        .optional()
        .describe('Of the last attempt.'),
    }),
  ),
})

/**
 * How a chain's newest version is stored; `keyId` if it is sealed. The length is left out, since it would tell known
 * sentences apart.
 */
const receipt = z.looseObject({
  uri: z.string(),
  encrypted: z.boolean(),
  algorithm: z.string(),
})

const chainVerdict = z.object({
  uri: z.string(),
  versions: z.int(),
  intact: z.boolean(),
  brokenAt: z.int().optional().describe('First version that does not hold.'),
  erased: z
    .int()
    .optional()
    .describe('Versions whose values were erased: their leaves hold, their values are gone.'),
  oldName: z
    .literal(true)
    .optional()
    .describe(
      'Its name is one that no write may have today (C38): it is read, and added to by nobody.',
    ),
})

const allChains = z.object({
  resource: z.string(),
  checkedAt: z.string().describe('The oldest replay that the report rests on.'),
  replayIntervalSeconds: z
    .int()
    .optional()
    .describe('How old that may be, where the store cannot say whether others have changed it.'),
  atRest: z.string(),
  chains: z.array(chainVerdict),
  receipts: z.array(receipt),
  versions: z.int().describe('Versions replayed; erased ones are not among them.'),
  erased: z.int().optional().describe('Versions that can no longer be replayed.'),
  intact: z.boolean(),
})

const oneChain = chainVerdict.extend({ atRest: receipt })

/** The JSON of `/verify`. It holds no value, version hash, author or time of a record (C9). */
export const verifyAnswer = z.union([allChains, oneChain.describe('With `uri`.')])

export type PublicReceipt = z.infer<typeof receipt>
export type ChainVerdict = z.infer<typeof chainVerdict>
export type VerifyPayload = z.infer<typeof allChains>
export type ChainPayload = z.infer<typeof oneChain>

export const EXPORT_FORMAT = 'tallystick-care-export/1'

/**
 * Why a version does not hold. `missing`: it is not there. `seal`: its sealed bytes do not open in its slot. `leaf`: some
 * field is not what the journal recorded. `slot`: it belongs elsewhere. `link`: it does not name the previous version.
 * `hash`: its fields do not hash to its version hash. `head`: the chain's recorded head is a different one.
 */
const versionFault = z.enum(['missing', 'seal', 'leaf', 'slot', 'link', 'hash', 'head'])

export type VersionFault = z.infer<typeof versionFault>

const hex = z.string().regex(/^[0-9a-f]{64}$/)
const index = z.int().min(0)
const place = { uri: z.string(), journal: audience, leafIndex: index, version: z.int().min(1) }

/** A line of an export (C8, C9): NDJSON, told apart by `kind`. Leaf hashes come before the versions that they cover. */
export const exportLine = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('export'),
    format: z.literal(EXPORT_FORMAT),
    audiences: z.array(audience),
    /** The one chain that the versions belong to; absent if all chains are included. */
    uri: z.string().optional(),
    /** The reach of the versions, if their reader may see only some patients' chains. */
    within: z.array(z.object({ audience, patient: z.string().optional() })).optional(),
  }),
  /** Leaf hashes of a journal from index `from`. */
  z.object({ kind: z.literal('leaves'), journal: audience, from: index, hashes: z.array(hex) }),
  /** `preimage` hashes to `versionHash`; a zero byte and `entry` hash to the leaf at `leafIndex`. */
  z.object({
    kind: z.literal('version'),
    ...place,
    versionHash: hex,
    preimage: z.string(),
    entry: z.string(),
  }),
  /** A version that does not hold; its text is never given out. */
  z.object({ kind: z.literal('broken'), ...place, fault: versionFault }),
  /** A version whose value was erased: its leaf stays (C31). */
  z.object({ kind: z.literal('erased'), ...place }),
  z.object({
    kind: z.literal('checkpoint'),
    journal: audience,
    note: z.string(),
    verifierKey: z.string(),
  }),
])

export type ExportLine = z.infer<typeof exportLine>
