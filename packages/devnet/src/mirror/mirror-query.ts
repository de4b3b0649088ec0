// The query parameters that the mirror node's lists share: repeated comparisons, page size, order, and the link to the
// next page.

/** A request that the mirror node refuses with 400; the messages are its own form. */
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

/** Rows per page unless asked for otherwise. */
const LIMIT_DEFAULT = 25

/** Rows per page at most; more is taken as this. */
const LIMIT_MAX = 100

/** Query parameters as Fastify parses them: repeated ones are arrays. */
export type MirrorQuery = { [name: string]: string | string[] | undefined }

/** All values of a parameter. */
export function valuesOf(query: MirrorQuery, name: string): string[] {
  const value = query[name]
  return value === undefined ? [] : Array.isArray(value) ? value : [value]
}

/** The last value of a parameter. */
export function valueOf(query: MirrorQuery, name: string): string | undefined {
  return valuesOf(query, name).at(-1)
}

/** Page size, 1 to 100. @throws MirrorRefusal */
export function readLimit(query: MirrorQuery): number {
  const text = valueOf(query, 'limit')
  if (text === undefined) return LIMIT_DEFAULT
  if (!/^[1-9]\d{0,8}$/.test(text)) throw invalidParameter('limit')
  return Math.min(Number(text), LIMIT_MAX)
}

/** `asc` or `desc`. @throws MirrorRefusal */
export function readOrder(query: MirrorQuery, fallback: 'asc' | 'desc'): 'asc' | 'desc' {
  const text = valueOf(query, 'order')?.toLowerCase()
  if (text === undefined) return fallback
  if (text !== 'asc' && text !== 'desc') throw invalidParameter('order')
  return text
}

/** An inclusive range. */
export type Range = { from: bigint; to: bigint }

/** Larger than every timestamp and number that the mirror node has. */
export const RANGE_END = 2n ** 63n - 1n

/** The range that repeated `gt:`, `gte:`, `lt:`, `lte:`, `eq:` or bare values of a parameter leave. @throws MirrorRefusal */
export function readRange(options: {
  query: MirrorQuery
  name: string
  parse: (text: string) => bigint | undefined
}): Range {
  const range: Range = { from: 0n, to: RANGE_END }
  for (const text of valuesOf(options.query, options.name)) {
    const match = /^(?:(gt|gte|lt|lte|eq|ne):)?([^:]+)$/.exec(text)
    const value = match?.[2] === undefined ? undefined : options.parse(match[2])
    if (match === null || value === undefined || match[1] === 'ne') {
      throw invalidParameter(options.name)
    }
    narrow(range, match[1] ?? 'eq', value)
  }
  return range
}

function narrow(range: Range, operator: string, value: bigint): void {
  if (operator === 'gt' || operator === 'gte' || operator === 'eq') {
    const from = operator === 'gt' ? value + 1n : value
    if (from > range.from) range.from = from
  }
  if (operator === 'lt' || operator === 'lte' || operator === 'eq') {
    const to = operator === 'lt' ? value - 1n : value
    if (to < range.to) range.to = to
  }
}

/**
 * `links.next` of a full page: the same query with `name` narrowed to what lies beyond `last`, null for a page that is
 * not full. With `lastIndex`, where several rows share a `last`, to its later rows and what lies beyond.
 */
export function nextLink(options: {
  path: string
  query: MirrorQuery
  name: string
  order: 'asc' | 'desc'
  last: string | undefined
  lastIndex?: number | undefined
}): string | null {
  const { lastIndex } = options
  if (options.last === undefined) return null
  const beyond = options.order === 'desc' ? 'lt' : 'gt'
  const isMoved = (name: string): boolean =>
    name === options.name || (name === 'index' && lastIndex !== undefined)
  const bounds =
    lastIndex === undefined
      ? [`${options.name}=${beyond}:${options.last}`]
      : [`${options.name}=${beyond}e:${options.last}`, `index=${beyond}:${lastIndex}`]
  const kept = Object.keys(options.query).flatMap((name) =>
    valuesOf(options.query, name)
      // A bound on the side that the page moves along is replaced by the page's end.
      .filter((value) => !isMoved(name) || !value.startsWith(beyond))
      .map((value) => `${name}=${value}`),
  )
  return `${options.path}?${[...kept, ...bounds].join('&')}`
}
