// Shared by the mirror node's routes: what is visible yet, refusals, ranges, pages, and the link to the next one.
// mirror-parameters.ts reads the parameters.

import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp } from '../ledger/records.ts'

/** A request that the mirror node refuses, in its own words. */
export class MirrorRefusal extends Error {
  override name = 'MirrorRefusal'
  readonly statusCode: 400 | 404
  readonly messages: readonly { message: string; detail?: string; data?: string }[]
  constructor(statusCode: 400 | 404, ...messages: MirrorRefusal['messages'][number][]) {
    super(messages.map(({ message }) => message).join('; '))
    this.statusCode = statusCode
    this.messages = messages
  }
}

/** The mirror node's words for a path or parameter that names nothing. */
export function notFound(): MirrorRefusal {
  return new MirrorRefusal(404, { message: 'Not found' })
}

/** The mirror node's words for a parameter that it cannot read. */
export function invalidParameter(name: string): MirrorRefusal {
  return new MirrorRefusal(400, { message: `Invalid parameter: ${name}` })
}

/** Query parameters as parsed by Fastify: repeated ones are arrays. */
export type MirrorQuery = { readonly [name: string]: string | string[] | undefined }

/** What a list reads of a request: its address and parameters, for the link to the next page, and size and order. */
export type ListRequest = {
  url: string
  query: MirrorQuery
  limit: number
  order: 'asc' | 'desc' | undefined
}

/** All values of a parameter. */
function listValues(query: MirrorQuery, name: string): string[] {
  return [query[name] ?? []].flat()
}

/**
 * The requested page of the ascending `rows`, and the link to the next one. A row's key is its value of the parameter
 * `name`; if rows share a key, `indexOf` tells them apart.
 */
export function cutPage<Row>(
  request: ListRequest,
  rows: readonly Row[],
  list: {
    name: string
    order: 'asc' | 'desc'
    pageKey: (row: Row) => string
    indexOf?: (row: Row) => number
  },
): { page: Row[]; links: { next: string | null } } {
  const { name, pageKey, indexOf } = list
  const { url, query, limit, order = list.order } = request
  const page = (order === 'desc' ? rows.toReversed() : rows).slice(0, limit)
  const end = page.at(-1)
  if (page.length < limit || end === undefined) return { page, links: { next: null } }
  const last = pageKey(end)
  const lastIndex = indexOf?.(end)
  return { page, links: { next: nextLink({ url, query, name, order, last, lastIndex }) } }
}

/** An inclusive range; if `among` is given, only these values of it. */
export type Range = { from: bigint; to: bigint; among?: readonly bigint[] }

/** No bounds: the end is larger than every timestamp and number that the mirror node has. */
export const EVERYTHING: Range = { from: 0n, to: 2n ** 63n - 1n }

export function isWithin({ from, to, among }: Range, value: bigint): boolean {
  return value >= from && value <= to && (among === undefined || among.includes(value))
}

/**
 * The range left by repeated `gt:`, `gte:`, `lt:` and `lte:`, and the values that repeated `eq:` or bare ones choose from it;
 * undefined if one cannot be read.
 */
export function readRange(
  texts: readonly string[],
  parse: (text: string) => bigint | undefined,
): Range | undefined {
  if (texts.length === 0) return EVERYTHING
  const range = { ...EVERYTHING }
  const among: bigint[] = []
  for (const text of texts) {
    const [, operator = 'eq', bound = ''] = /^(?:(gt|gte|lt|lte|eq):)?([^:]+)$/.exec(text) ?? []
    const value = parse(bound)
    if (value === undefined) return undefined
    if (operator === 'eq') among.push(value)
    const from = operator === 'gt' ? value + 1n : value
    const to = operator === 'lt' ? value - 1n : value
    if (operator.startsWith('g') && from > range.from) range.from = from
    if (operator.startsWith('l') && to < range.to) range.to = to
  }
  if (among.length === 0) return range
  const [first = 0n] = among
  const low = among.reduce((least, value) => (value < least ? value : least), first)
  const high = among.reduce((most, value) => (value > most ? value : most), first)
  return {
    from: low > range.from ? low : range.from,
    to: high < range.to ? high : range.to,
    among,
  }
}

/** A whole number below 10^15 as written in a path or parameter, in decimal or, after `0x`, in hex. */
export function parseWhole(text: string): bigint | undefined {
  return /^(?:\d{1,15}|0x[0-9a-f]{1,12})$/i.test(text) ? BigInt(text) : undefined
}

/** Lists of events are ordered by time, newest first. */
export const BY_TIME = {
  name: 'timestamp',
  order: 'desc',
  pageKey: ({ consensusNs }: { consensusNs: bigint }): string => formatTimestamp(consensusNs),
} as const

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
  const remaining = Object.keys(query).flatMap((name) =>
    listValues(query, name)
      // A bound on the side towards which the page advances is replaced by the page's end.
      .filter((value) => !isMoved(name) || !value.startsWith(beyond))
      .map((value) => `${name}=${value}`),
  )
  return `${options.url.split('?')[0]}?${[...remaining, ...bounds].join('&')}`
}

/** Everything that the mirror node has taken in by now, as the last visible time in consensus nanoseconds. */
export function visibleNs(ledger: Ledger): bigint {
  return BigInt(Math.floor(ledger.clock.unixMs() - ledger.faults.mirrorLagMs)) * 1_000_000n
}

/** The last consensus timestamp that the mirror node may show. What has just come may be nanoseconds ahead of the clock. */
export function newestNs(ledger: Ledger): bigint {
  return ledger.faults.mirrorLagMs === 0 ? EVERYTHING.to : visibleNs(ledger) + 999_999n
}

/** Whether the mirror node has taken in what happened at a consensus timestamp. */
export function isVisible(ledger: Ledger, consensusNs: bigint): boolean {
  return consensusNs <= newestNs(ledger)
}
