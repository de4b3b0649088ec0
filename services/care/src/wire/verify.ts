/** `GET /verify`, `/verify/export` and `/verify/checkpoint`: queries, answers and the lines of an export. */
import { z } from 'zod'
import { uriExample } from './examples.ts'
import { audience } from './records.ts'

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

export const journalQuery = z.object({
  journal: z
    .enum(audience.options, { error: 'user or assistant' })
    .default('user')
    .meta({ description: 'That of assistant records needs their scope.', examples: ['user'] }),
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
    /** What the versions are within, where their reader may see only some patients' chains. */
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
