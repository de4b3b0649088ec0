/**
 * Bounds on what outsiders can grow: a map, a metric's label values, how often a read is made, how often one caller
 * calls, the body of an answer or a request.
 */
import type { IncomingMessage } from 'node:http'
import { isIPv6, SocketAddress } from 'node:net'
import type { Clock } from './clock.ts'

/** A map of at most `max` entries: `set` moves its entry to the end and drops the first one beyond `max`. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #max: number

  constructor(max: number) {
    if (!Number.isSafeInteger(max) || max < 0)
      throw new RangeError('max must be a whole number from 0')
    this.#max = max
  }

  get size(): number {
    return this.#entries.size
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** Reading does not renew an entry; setting it again does. */
  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  set(key: K, value: V): this {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    const oldest = this.#entries.keys().next()
    if (this.#entries.size > this.#max && oldest.done !== true) this.#entries.delete(oldest.value)
    return this
  }

  delete(key: K): boolean {
    return this.#entries.delete(key)
  }
}

/** The value under a key; if there is none, makes and keeps one. */
export function getOrMake<K, V>(
  cache: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  const known = cache.get(key)
  if (known !== undefined) return known
  const made = make()
  cache.set(key, made)
  return made
}

/** Distinct values per label, so that outside text, such as a facilitator's reasons, cannot create unlimited series. */
const LABEL_VALUES_MAX = 64

/**
 * Returns a function from text to label value: the text itself, or `other` once there have been `LABEL_VALUES_MAX`
 * different ones.
 */
export function boundedLabel(): (text: string) => string {
  const known = new Set<string>()
  return (text) => {
    if (known.has(text)) return text
    if (known.size >= LABEL_VALUES_MAX) return 'other'
    known.add(text)
    return text
  }
}

/** A read that callers share. */
export type KeptRead<Value> = {
  /** Returns what was read at most `keptMs` ago, or a new read shared by all who ask meanwhile. Rejects as the read does. */
  (): Promise<Value>
  /** Call it after a write: the next read is a new one, and one under way is not kept. */
  readonly forget: () => void
}

/** Keeps a read for `keptMs`, counted from the request and judged when it is asked for. A failure is not kept. */
export function keptRead<Value>(options: {
  readonly clock: Pick<Clock, 'unixMs'>
  readonly keptMs: number | (() => number)
  readonly read: () => Promise<Value>
}): KeptRead<Value> {
  const { clock, read } = options
  const keptMs = (): number =>
    typeof options.keptMs === 'number' ? options.keptMs : options.keptMs()
  let last: { readonly askedAtMs: number; readonly value: Promise<Value> } | undefined
  const ask = (): Promise<Value> => {
    const askedAtMs = clock.unixMs()
    // If the clock was set back, the age is unknown.
    const ageMs = last === undefined ? Number.NaN : askedAtMs - last.askedAtMs
    if (last !== undefined && ageMs >= 0 && ageMs < keptMs()) return last.value
    const entry = { askedAtMs, value: read() }
    last = entry
    entry.value.catch(() => {
      if (last === entry) last = undefined
    })
    return entry.value
  }
  return Object.assign(ask, {
    forget: () => {
      last = undefined
    },
  })
}

/**
 * Names one client, however proxies spell it: an IPv4 address, or the /64 of an IPv6 address, since one customer holds all of
 * it.
 *
 * @example clientNetwork('2001:db8:1:2::7') // '2001:db8:1:2'
 */
export function clientNetwork(address: string): string {
  const plain = address.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (!isIPv6(plain)) return plain
  const spelled = new SocketAddress({ address: plain.replace(/%.*/, ''), family: 'ipv6' }).address
  const [, mapped] = /^::ffff:(.+\..+)$/.exec(spelled) ?? []
  if (mapped !== undefined) return mapped
  const [head = [], tail = []] = spelled.split('::').map((side) => side.split(':').filter(Boolean))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}

/** Calls that an idle caller saves up, in seconds of the rate: at the defaults a whole local quota may come at once. */
const BURST_SECONDS = 4

/** Callers remembered, about 100 bytes each. A forgotten one starts again with a whole burst. */
const CALLERS_MAX = 50_000

export type CallRate = ReturnType<typeof createCallRate>

/** Limits each caller to `perSecond` calls; 0 is no limit. */
export function createCallRate({
  clock,
  perSecond,
}: {
  readonly clock: Clock
  readonly perSecond: number
}) {
  const spacingMs = 1000 / perSecond
  // Whoever was idle is served one call, however low the rate.
  const burstMs = Math.max(0, 1000 * BURST_SECONDS - spacingMs)
  /** When each caller is back within the rate, Unix milliseconds. */
  const evenAtMs = new BoundedMap<string, number>(CALLERS_MAX)
  return {
    /** Counts a call and returns undefined; over the limit it counts nothing and returns the seconds to wait. */
    secondsToWait(caller: string): number | undefined {
      if (perSecond === 0) return undefined
      const nowMs = clock.unixMs()
      const fromMs = Math.max(nowMs, evenAtMs.get(caller) ?? 0)
      const overMs = fromMs - nowMs - burstMs
      if (overMs > 0) return Math.max(1, Math.ceil(overMs / 1000))
      evenAtMs.set(caller, fromMs + spacingMs)
      return undefined
    },
  }
}

/** The bytes of a body, such as `response.body`. Returns `too_large` and stops reading as soon as it exceeds `bytesMax`. */
export async function readLimited(
  body: AsyncIterable<Uint8Array> | null | undefined,
  bytesMax: number,
): Promise<Uint8Array | 'too_large'> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength
    if (bytes > bytesMax) return 'too_large'
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The sender left before its body ended, so there is nobody to answer. */
class SenderGone extends Error {
  override readonly name = 'SenderGone'
  /** Not the service's fault, so it is not logged as one. */
  readonly statusCode = 400
}

/** How much of an oversized body is still read, so that its sender finishes and sees the answer; a sender of more is cut off. */
const DISCARDED_BYTES_MAX = 4 * 1_024 * 1_024

/**
 * Reads a body byte for byte, past Fastify: whatever its content type, and before any parsing. Resolves as `too-large` at the
 * first byte over the limit, or at once if more is announced than would be read; rejects with SenderGone.
 */
export function readRequestBody(
  request: IncomingMessage,
  limitBytes: number,
): Promise<Uint8Array | 'too-large'> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let total = 0
    const announced = Number(request.headers['content-length'] ?? 0)
    if (announced > limitBytes + DISCARDED_BYTES_MAX) resolve('too-large')
    request.on('data', (chunk: Buffer) => {
      total += chunk.length
      if (total <= limitBytes) {
        chunks.push(chunk)
        return
      }
      chunks = []
      resolve('too-large')
      if (total > limitBytes + DISCARDED_BYTES_MAX) request.destroy()
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    const giveUp = (cause?: unknown): void =>
      reject(new SenderGone('the body did not end', { cause }))
    request.on('error', giveUp)
    request.on('close', () => {
      if (!request.readableEnded) giveUp()
    })
  })
}
