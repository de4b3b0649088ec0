/** MCP Events on the wire: schemas, the one type of event, and the differences between profiles (C22). */
import { z } from 'zod'
import { nameText } from './records.ts'
import { TEXT_BYTES_MAX } from './write-limits.ts'

/** Longest URL of a receiver, characters. */
const URL_CHARS_MAX = 2_048
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64

/** Where the texts of MCP Events differ. */
export const EVENT_PROFILES = {
  /** ChatGPT's, as its documentation and the design sketch have it. */
  chatgpt: {
    /** Whether each message has a `webhook-id` of its own; otherwise it is the event's id. */
    isIdOfMessage: false,
    codes: {
      notFound: -32_011,
      forbidden: -32_012,
      exhausted: -32_013,
      unsupported: -32_014,
      callback: -32_015,
    },
  },
  /** The draft of SEP-3415: its final text was not available. */
  sep: {
    isIdOfMessage: true,
    codes: {
      notFound: -32_023,
      forbidden: -32_024,
      exhausted: -32_025,
      unsupported: -32_026,
      callback: -32_027,
    },
  },
}

export type EventProfile = (typeof EVENT_PROFILES)[keyof typeof EVENT_PROFILES]

const secret = z.string().refine((text) => {
  const encoded = text.slice('whsec_'.length)
  const bytes = Buffer.from(encoded, 'base64')
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
  const isLong = bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX
  return text.startsWith('whsec_') && isBase64 && isLong
}, `whsec_ and base64 of ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes`)

const shortName = nameText.refine((name) => Buffer.byteLength(name) <= TEXT_BYTES_MAX, 'a name')

/** The name of the requested thing, judged before the rest is read. */
export const eventName = z.object({ name: z.string() })

const eventArguments = z.strictObject({ patient: shortName, domain: shortName.optional() })

const callbackUrl = z
  .string()
  .max(URL_CHARS_MAX)
  .refine((text) => {
    if (!URL.canParse(text)) return false
    const { hash, password, protocol, username } = new URL(text)
    return /^https?:$/.test(protocol) && `${hash}${username}${password}` === ''
  }, 'an https URL without credentials or fragment')
  .transform((text) => new URL(text).href)

export const deliveryMode = z.object({ delivery: z.object({ mode: z.string() }) })

export const subscribeParams = z.object({
  arguments: eventArguments,
  delivery: z.object({ mode: z.literal('webhook'), url: callbackUrl, secret }),
  cursor: z.string().nullish(),
  maxAgeMs: z.int().nonnegative().nullish(),
  ttlMs: z.int().positive().nullish(),
})

export const unsubscribeParams = z.object({
  arguments: eventArguments,
  delivery: z.object({ url: callbackUrl }),
})

const { $schema: _, ...inputSchema } = z.toJSONSchema(eventArguments)

/** The type of event in `events/list`. Its payload has no value: the host reads that with its own right. */
export const RECORD_REVISED = {
  name: 'care.record.revised',
  description: 'A clinician published a new version of a care record the account may read.',
  delivery: ['webhook'],
  inputSchema,
  payloadSchema: {
    type: 'object',
    properties: {
      uri: { type: 'string' },
      version: { type: 'integer' },
      versionHash: { type: 'string' },
      retracts: { type: 'boolean' },
      language: { type: 'string' },
    },
    required: ['uri', 'version', 'versionHash', 'retracts'],
    additionalProperties: false,
  },
}
