import type { Clock } from './clock.ts'

/** What a JSON call over HTTP came to. `unreachable` tells whether a connection had come about. */
export type JsonAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly json: unknown }
  | { readonly kind: 'unreachable'; readonly nothingSent: boolean; readonly cause: unknown }
  /** Too slow, too large, redirected or no JSON. `status` where one came. */
  | { readonly kind: 'nonsense'; readonly status?: number; readonly cause: unknown }

export type JsonCall = {
  readonly url: string
  readonly fetch: typeof fetch
  readonly clock: Clock
  readonly timeoutMs: number
  /** Largest body read; a longer one is cut off and is nonsense. */
  readonly bytesMax: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Error codes of a connection that never came about: no byte of the request has left this machine. */
const NEVER_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * Calls a JSON endpoint once, within a time and a size; GET, or POST where there is a body. Redirects are not followed:
 * a payment goes to the configured host or nowhere. Never throws.
 */
export async function fetchJson(call: JsonCall): Promise<JsonAnswer> {
  const abort = new AbortController()
  const cancel = call.clock.after(call.timeoutMs, () =>
    abort.abort(new Error(`no answer within ${call.timeoutMs} ms`)),
  )
  try {
    const response = await call.fetch(call.url, {
      method: call.body === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      signal: abort.signal,
      headers: {
        accept: 'application/json',
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
      },
      ...(call.body === undefined ? {} : { body: call.body }),
    })
    return await readAnswer(response, call.bytesMax)
  } catch (cause) {
    return { kind: 'unreachable', nothingSent: neverConnected(cause), cause }
  } finally {
    cancel()
  }
}

async function readAnswer(response: Response, bytesMax: number): Promise<JsonAnswer> {
  const { status } = response
  if (status >= 300 && status < 400) {
    await response.body?.cancel()
    return { kind: 'nonsense', status, cause: new Error(`redirected with status ${status}`) }
  }
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > bytesMax) {
      return { kind: 'nonsense', status, cause: new Error(`answer exceeds ${bytesMax} bytes`) }
    }
    chunks.push(chunk)
  }
  try {
    return { kind: 'answered', status, json: JSON.parse(Buffer.concat(chunks).toString('utf8')) }
  } catch (cause) {
    return { kind: 'nonsense', status, cause }
  }
}

function neverConnected(error: unknown): boolean {
  const seen = new Set<unknown>()
  for (let at = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at)
    if (at instanceof AggregateError) return at.errors.length > 0 && at.errors.every(neverConnected)
    if ('code' in at && typeof at.code === 'string' && NEVER_CONNECTED.has(at.code)) return true
  }
  return false
}
