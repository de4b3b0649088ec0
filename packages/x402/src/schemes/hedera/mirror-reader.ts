/** Reads paths of a mirror node, bounded in time and size, whole or page by page. mirror-node.ts says which. */
import type { z } from 'zod'
import { httpUrl } from '../../bad-argument.ts'
import { type Clock, systemClock } from '../../clock.ts'
import { fetchJson, type JsonAnswer } from '../../http-json.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'

export type MirrorReaderOptions = {
  /** Base address, without `/api/v1`. */
  readonly url: string
  readonly clock?: Clock | undefined
  /** Longest wait for one answer. */
  readonly timeoutMs?: number
}

/** A public mirror node answers in 0.1 to 2 s. */
const TIMEOUT_MS = 10_000

/** A page of 100 transactions with long transfer lists is about 300 kB. */
const ANSWER_BYTES_MAX = 2_097_152

/** Pages read per call: 100,000 transfers, more than 30 days for a busy seller; the caller continues from the last one. */
const PAGES_MAX = 1_000

export type Read = ReturnType<typeof createReader>

type ReadOptions = {
  readonly absent?: readonly number[]
  /** Called with every answer. */
  readonly hear?: (answer: Extract<JsonAnswer, { kind: 'answered' }>) => void
}

/** Reads one path: parsed JSON, undefined for statuses that mean absence, LedgerUnavailable for everything else. */
export function createReader(options: MirrorReaderOptions) {
  const { clock = systemClock, timeoutMs = TIMEOUT_MS, url } = options
  const base = httpUrl('url', url)
  return async <Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    { absent = [404], hear }: ReadOptions = {},
  ): Promise<z.output<Schema> | undefined> => {
    const call = { url: `${base}${path}`, clock, timeoutMs, bytesMax: ANSWER_BYTES_MAX }
    const first = await fetchJson(call)
    // A server may close a kept connection just as it is used again; a GET may then be repeated (RFC 9110 §9.2.2).
    const answer = isCutOff(first) ? await fetchJson(call) : first
    if (answer.kind !== 'answered') {
      throw new LedgerUnavailable('the mirror node did not answer', { cause: answer.cause })
    }
    const { json, status } = answer
    hear?.(answer)
    if (absent.includes(status)) return undefined
    try {
      if (status === 200) return schema.parse(json)
    } catch (cause) {
      throw new LedgerUnavailable('the mirror node answered nonsense', { cause })
    }
    throw new LedgerUnavailable(`the mirror node answered ${status}`, { cause: json })
  }
}

const isCutOff = (answer: JsonAnswer): boolean =>
  answer.kind === 'unreachable' && !answer.nothingSent && !answer.isTimeout

type Paged = { readonly links?: { readonly next?: string | null | undefined } | null | undefined }

export async function* readPages<Schema extends z.ZodType<Paged>>(
  read: Read,
  first: string,
  { schema, pagesMax = PAGES_MAX }: { readonly schema: Schema; readonly pagesMax?: number },
): AsyncGenerator<z.output<Schema>> {
  let path: string | undefined = first
  for (let page = 0; page < pagesMax && path !== undefined; page += 1) {
    const answer: z.output<Schema> | undefined = await read(path, schema)
    if (answer === undefined) return
    yield answer
    path = answer.links?.next || undefined
  }
}
