// The border of the mirror node. Each route has one list of the parameters that it honours; any other is refused, as is a
// value that cannot be read, so that no answer is to another question than was asked.

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { entityNumber } from '../ledger/entity-id.ts'
import { parseTimestamp } from '../ledger/records.ts'
import { TRANSACTION_TYPES } from './mirror-node-names.ts'
import {
  type ListRequest,
  type MirrorQuery,
  MirrorRefusal,
  parseWhole,
  readRange,
} from './mirror-query.ts'

/** Default rows per page. */
const LIMIT_DEFAULT = 25

/** Most rows per page; higher limits are treated as this. */
const LIMIT_MAX = 100

const INVALID = { code: 'custom', message: 'invalid' } as const

/** A parameter that may stand once. */
function single<Value>(parse: (text: string) => Value | undefined) {
  return z
    .string()
    .transform((text, context) => {
      const value = parse(text)
      if (value === undefined) context.addIssue(INVALID)
      return value
    })
    .optional()
}

/** A parameter that may be repeated: the range and values that it leaves. */
function range(parse: (text: string) => bigint | undefined) {
  return z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform((texts, context) => {
      const left = readRange([texts ?? []].flat(), parse)
      if (left !== undefined) return left
      context.addIssue(INVALID)
      return z.NEVER
    })
}

/** Words in any letter case. */
function word<Word extends string>(...words: readonly Word[]) {
  return single((text) => words.find((candidate) => candidate === text.toLowerCase()))
}

const readNumber = (text: string): bigint | undefined => {
  const number = entityNumber(text)
  return number === undefined ? undefined : BigInt(number)
}

const parseHash = (text: string): string | undefined => {
  const digits = /^(?:0x)?([0-9a-f]{64})(?:[0-9a-f]{32})?$/i.exec(text)?.[1]
  return digits === undefined ? undefined : `0x${digits.toLowerCase()}`
}

/** Topics to choose from, each padded to 32 bytes. */
const topic = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .transform((texts, context) => {
    const topics = [texts ?? []].flat().map((text) => /^(?:0x)?([0-9a-f]{1,64})$/i.exec(text)?.[1])
    if (topics.includes(undefined)) context.addIssue(INVALID)
    return topics.map((digits = '') => `0x${digits.toLowerCase().padStart(64, '0')}`)
  })

/** The parameters of the mirror node that some route honours. */
export const PARAMETERS = {
  paging: {
    limit: single((text) =>
      /^[1-9]\d{0,8}$/.test(text) ? Math.min(Number(text), LIMIT_MAX) : undefined,
    ),
    order: word('asc', 'desc'),
  },
  flag: word('true', 'false').transform((text) =>
    text === undefined ? undefined : text === 'true',
  ),
  hash32: single(parseHash),
  /** An entity by id, number, alias or address. */
  anEntity: single((text) => text.replace(/^eq:/, '')),
  ids: range(readNumber),
  amounts: range((text) => (/^\d{1,19}$/.test(text) ? BigInt(text) : undefined)),
  wholes: range(parseWhole),
  whole: single(parseWhole),
  times: range(parseTimestamp),
  /** A raw public key, or in DER. */
  publicKey: single((text) =>
    /^(?:0x)?(?:302a300506032b6570032100|302d300706052b8104000a032200)?((?:0[23])?[0-9a-f]{64})$/i
      .exec(text)?.[1]
      ?.toLowerCase(),
  ),
  slot: single((text) => /^(?:0x)?([0-9a-f]{1,64})$/i.exec(text)?.[1]?.padStart(64, '0')),
  fourTopics: { topic0: topic, topic1: topic, topic2: topic, topic3: topic },
  transactionType: single((text) => {
    const name = text.toUpperCase()
    return TRANSACTION_TYPES.includes(name) ? name : undefined
  }),
  word,
} as const

/** A list of parameters: their names and how each is read. */
type Parameters = { readonly [name: string]: z.ZodType }

type Asked<Names extends Parameters> = {
  /** What the path names. */
  params: { id: string; at: string }
  query: z.output<z.ZodObject<Names>>
  list: ListRequest
}

/** A route that answers with what `answer` returns, and refuses every parameter that is not in `parameters`. */
export function addMirrorRoute<Names extends Parameters>(
  app: FastifyInstance,
  route: { path: string; parameters: Names },
  answer: (request: Asked<Names>) => unknown,
): void {
  const schema = z.strictObject(route.parameters)
  app.get<{ Params: { id: string; at: string }; Querystring: MirrorQuery }>(
    `/api/v1/${route.path}`,
    async ({ params, query, url }) => {
      const read = schema.safeParse({ ...query })
      if (!read.success) throw explainRefusal(read.error)
      const { limit = LIMIT_DEFAULT, order }: { limit?: number; order?: 'asc' | 'desc' } = read.data
      return answer({ params, query: read.data, list: { url, query, limit, order } })
    },
  )
}

function explainRefusal({ issues }: z.ZodError): MirrorRefusal {
  const messages = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((name) => `Unknown query parameter: ${name}`)
      : [`Invalid parameter: ${String(issue.path[0])}`],
  )
  return new MirrorRefusal(400, ...messages.map((message) => ({ message })))
}
