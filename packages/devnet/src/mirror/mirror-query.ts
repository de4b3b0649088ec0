// Shared by the mirror node's routes: what is visible yet, refusals, and the query parameters of lists (repeated
// comparisons, page size, order, and the link to the next page).

import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp, parseTimestamp } from '../ledger/records.ts'

/** A request that the mirror node refuses with 400 or 404, in its own words. */
export class MirrorRefusal extends Error {
  override name = 'MirrorRefusal'
  readonly statusCode: 400 | 404
  constructor(statusCode: 400 | 404, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}

/** The mirror node's words for a path or parameter that names nothing. */
export function notFound(): MirrorRefusal {
  return new MirrorRefusal(404, 'Not found')
}

/** The mirror node's words for a parameter that it cannot read. */
export function invalidParameter(name: string): MirrorRefusal {
  return new MirrorRefusal(400, `Invalid parameter: ${name}`)
}

/** Default rows per page. */
const LIMIT_DEFAULT = 25

/** Most rows per page; higher limits are treated as this. */
const LIMIT_MAX = 100

/** Query parameters as parsed by Fastify: repeated ones are arrays. */
export type MirrorQuery = { [name: string]: string | string[] | undefined }

/** The part of a request that lists read. */
export type ListRequest = { url: string; query: MirrorQuery }

/** A request for a list, or for what `:id` names. */
export type MirrorRequest = { Params: { id: string }; Querystring: MirrorQuery }

/** All values of a parameter. */
export function valuesOf(query: MirrorQuery, name: string): string[] {
  return [query[name] ?? []].flat()
}

/** The last value of a parameter. */
export function valueOf(query: MirrorQuery, name: string): string | undefined {
  return valuesOf(query, name).at(-1)
}

/** The value of a parameter that is one of few words, in any letter case. @throws MirrorRefusal */
export function wordOf<Word extends string>(
  query: MirrorQuery,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = valueOf(query, name)?.toLowerCase()
  const word = words.find((one) => one === text)
  if (text !== undefined && word === undefined) throw invalidParameter(name)
  return word
}

/** Page size, 1 to 100. @throws MirrorRefusal */
function readLimit(query: MirrorQuery): number {
  const text = valueOf(query, 'limit')
  if (text === undefined) return LIMIT_DEFAULT
  if (!/^[1-9]\d{0,8}$/.test(text)) throw invalidParameter('limit')
  return Math.min(Number(text), LIMIT_MAX)
}

/**
 * The requested page of the ascending `rows`, and the link to the next one. A row's key is its value of the parameter
 * `name`; if rows share a key, `indexOf` tells them apart. @throws MirrorRefusal
 */
export function pageOf<Row>(
  { url, query }: ListRequest,
  rows: readonly Row[],
  list: {
    name: string
    order: 'asc' | 'desc'
    keyOf: (row: Row) => string
    indexOf?: (row: Row) => number
  },
): { page: Row[]; links: { next: string | null } } {
  const { name, keyOf, indexOf } = list
  const limit = readLimit(query)
  const order = wordOf(query, 'order', ['asc', 'desc']) ?? list.order
  const page = (order === 'desc' ? rows.toReversed() : rows).slice(0, limit)
  const end = page.at(-1)
  if (page.length < limit || end === undefined) return { page, links: { next: null } }
  const last = keyOf(end)
  const lastIndex = indexOf?.(end)
  return { page, links: { next: nextLink({ url, query, name, order, last, lastIndex }) } }
}

/** An inclusive range. */
export type Range = { from: bigint; to: bigint }

/** Larger than every timestamp and number that the mirror node has. */
const RANGE_END = 2n ** 63n - 1n

/** The range left by repeated `gt:`, `gte:`, `lt:`, `lte:`, `eq:` or bare values of a parameter. @throws MirrorRefusal */
export function readRange(
  query: MirrorQuery,
  name: string,
  parse: (text: string) => bigint | undefined,
): Range {
  const range: Range = { from: 0n, to: RANGE_END }
  for (const text of valuesOf(query, name)) {
    const [, operator = 'eq', bound = ''] = /^(?:(gt|gte|lt|lte|eq):)?([^:]+)$/.exec(text) ?? []
    const value = parse(bound)
    if (value === undefined) throw invalidParameter(name)
    const from = operator === 'gt' ? value + 1n : value
    const to = operator === 'lt' ? value - 1n : value
    if (!operator.startsWith('l') && from > range.from) range.from = from
    if (!operator.startsWith('g') && to < range.to) range.to = to
  }
  return range
}

/** A whole number below 10^15 as written in a path or parameter. */
export function parseWhole(text: string): bigint | undefined {
  return /^\d{1,15}$/.test(text) ? BigInt(text) : undefined
}

/** Lists of events are ordered by time, newest first. */
export const BY_TIME = {
  name: 'timestamp',
  order: 'desc',
  keyOf: ({ consensusNs }: { consensusNs: bigint }): string => formatTimestamp(consensusNs),
} as const

/** The range of times requested from a list. @throws MirrorRefusal */
export function timesIn(query: MirrorQuery): Range {
  return readRange(query, 'timestamp', parseTimestamp)
}

/**
 * `links.next` of a full page: the same query with `name` narrowed to what lies beyond `last`, or with `lastIndex`, to the
 * later rows of `last` and beyond.
 */
export function nextLink(options: {
  /** Path of this page; a query in it is ignored. */
  url: string
  query: MirrorQuery
  name: string
  order: 'asc' | 'desc'
  last: string
  lastIndex?: number | undefined
}): string {
  const { lastIndex, last, query } = options
  const beyond = options.order === 'desc' ? 'lt' : 'gt'
  const isMoved = (name: string): boolean =>
    name === options.name || (name === 'index' && lastIndex !== undefined)
  const bounds =
    lastIndex === undefined
      ? [`${options.name}=${beyond}:${last}`]
      : [`${options.name}=${beyond}e:${last}`, `index=${beyond}:${lastIndex}`]
  const kept = Object.keys(query).flatMap((name) =>
    valuesOf(query, name)
      // A bound on the side towards which the page advances is replaced by the page's end.
      .filter((value) => !isMoved(name) || !value.startsWith(beyond))
      .map((value) => `${name}=${value}`),
  )
  return `${options.url.split('?')[0]}?${[...kept, ...bounds].join('&')}`
}

/** Everything that the mirror node has taken in by now, as the last visible time in consensus nanoseconds. */
export function visibleNs(ledger: Ledger): bigint {
  return BigInt(Math.floor(ledger.clock.unixMs() - ledger.faults.mirrorLagMs)) * 1_000_000n
}

/** Whether the mirror node has taken in what happened at a consensus timestamp. */
export function isVisible(ledger: Ledger, consensusNs: bigint): boolean {
  return (
    ledger.faults.mirrorLagMs === 0 || consensusNs / 1_000_000n <= visibleNs(ledger) / 1_000_000n
  )
}
