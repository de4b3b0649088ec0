import type { Clock } from './clock.ts'
import { type RequestEnd, sendRequest } from './send-request.ts'

/** What a JSON call over HTTP came to. `unreachable` tells whether a connection had come about. */
export type JsonAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly json: unknown }
  | { readonly kind: 'unreachable'; readonly nothingSent: boolean; readonly cause: unknown }
  /** Too slow, too large, redirected or no JSON. `status` where one came. */
  | { readonly kind: 'nonsense'; readonly status?: number; readonly cause: unknown }

export type JsonCall = {
  readonly url: string
  /** Node's own HTTP client by default. */
  readonly fetch?: typeof fetch | undefined
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
  const request = {
    method: call.body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    },
    body: call.body,
  } as const
  if (call.fetch !== undefined) return await throughFetch(call, call.fetch, request)
  const { bytesMax, url } = call
  const underWay = sendRequest({ ...request, url, bytesMax })
  const cancel = call.clock.after(call.timeoutMs, () => underWay.stop(tooSlow(call)))
  const end = await underWay.end
  cancel()
  return judgeEnd(end, bytesMax)
}

const tooSlow = ({ timeoutMs }: JsonCall): Error => new Error(`no answer within ${timeoutMs} ms`)

function judgeEnd(end: RequestEnd, bytesMax: number): JsonAnswer {
  switch (end.kind) {
    case 'failed': {
      const { cause, hasConnected } = end
      return { kind: 'unreachable', nothingSent: !hasConnected || neverConnected(cause), cause }
    }
    case 'too_large':
      return tooLarge(end.status, bytesMax)
    case 'answered':
      return isRedirect(end.status) ? redirected(end.status) : parse(end.status, end.body)
    default:
      return end satisfies never
  }
}

type FetchRequest = {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
}

async function throughFetch(
  call: JsonCall,
  send: typeof fetch,
  request: FetchRequest,
): Promise<JsonAnswer> {
  const { body, headers, method } = request
  const abort = new AbortController()
  const cancel = call.clock.after(call.timeoutMs, () => abort.abort(tooSlow(call)))
  try {
    const response = await send(call.url, {
      method,
      redirect: 'manual',
      signal: abort.signal,
      headers,
      ...(body === undefined ? {} : { body }),
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
  if (isRedirect(status)) {
    await response.body?.cancel()
    return redirected(status)
  }
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > bytesMax) return tooLarge(status, bytesMax)
    chunks.push(chunk)
  }
  return parse(status, Buffer.concat(chunks))
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400

const redirected = (status: number): JsonAnswer => ({
  kind: 'nonsense',
  status,
  cause: new Error(`redirected with status ${status}`),
})

const tooLarge = (status: number, bytesMax: number): JsonAnswer => ({
  kind: 'nonsense',
  status,
  cause: new Error(`answer exceeds ${bytesMax} bytes`),
})

function parse(status: number, body: Buffer): JsonAnswer {
  try {
    return { kind: 'answered', status, json: JSON.parse(body.toString('utf8')) }
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
