/**
 * One POST to a URL that somebody else chose. Its name is resolved once, all its addresses are checked, and the connection
 * goes to a checked one, whatever the name resolves to by then. Redirects are not followed, and an answer is read only as far
 * as the caller asks.
 */
import type { LookupAddress, LookupOptions } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { readLimited } from './bounded.ts'
import type { Clock } from './clock.ts'
import { isPublicAddress } from './public-address.ts'

/** Every address that a name has. */
export type ResolveName = (hostname: string) => Promise<readonly LookupAddress[]>

type CheckedPost = {
  readonly url: URL
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly clock: Clock
  /** For name, connection and answer together, milliseconds. */
  readonly timeoutMs: number
  /** How much of the answer is read, bytes; a longer one reads as an empty text. 0 reads only its status. */
  readonly answerBytesMax?: number
  /** Whether the URL may lead into the operator's own network. */
  readonly mayBePrivate: boolean
  readonly signal?: AbortSignal | undefined
  readonly resolve?: ResolveName | undefined
}

export type PostAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  | {
      readonly kind: 'failed'
      /** `not_public`: the name leads to an address outside the public internet; nothing was sent. */
      readonly reason: 'not_public' | 'timeout' | 'tls_error' | 'connection_refused' | 'aborted'
      readonly cause?: unknown
    }

const resolveAll: ResolveName = (hostname) => lookup(hostname, { all: true })

/** Posts once. Never rejects. */
export async function postChecked(post: CheckedPost): Promise<PostAnswer> {
  const { clock, mayBePrivate, resolve = resolveAll, signal, timeoutMs, url } = post
  const ended = new AbortController()
  const end = Promise.withResolvers<PostAnswer>()
  const endWith = (reason: 'timeout' | 'aborted'): void => {
    end.resolve({ kind: 'failed', reason })
    ended.abort()
  }
  const cancel = clock.after(timeoutMs, () => endWith('timeout'))
  const onAbort = (): void => endWith('aborted')
  if (signal?.aborted === true) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  const run = async (): Promise<PostAnswer> => {
    const found = await resolve(url.hostname.replace(/^\[|\]$/g, ''))
    const [address] = found
    if (address === undefined) return { kind: 'failed', reason: 'connection_refused' }
    if (!mayBePrivate && !found.every((host) => isPublicAddress(host.address)))
      return { kind: 'failed', reason: 'not_public' }
    if (ended.signal.aborted) return await end.promise
    return await postTo(address, { ...post, signal: ended.signal })
  }
  try {
    return await Promise.race([end.promise, run().catch(describeFailure)])
  } finally {
    cancel()
    signal?.removeEventListener('abort', onAbort)
    ended.abort()
  }
}

/** Codes of errors that a handshake ends with. */
const TLS_CODE = /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_)/

function describeFailure(cause: unknown): PostAnswer {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return { kind: 'failed', reason: TLS_CODE.test(code) ? 'tls_error' : 'connection_refused', cause }
}

/** One POST to a given address; rejects if there is no answer. */
async function postTo(address: LookupAddress, post: CheckedPost): Promise<PostAnswer> {
  const { answerBytesMax = 0, body, headers, signal, url } = post
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  type Found = (error: null, found: string | LookupAddress[], family?: number) => void
  const atAddress = (_name: string, { all }: LookupOptions, found: Found): void =>
    all === true ? found(null, [address]) : found(null, address.address, address.family)
  const answered = Promise.withResolvers<IncomingMessage>()
  const request = send(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': `${Buffer.byteLength(body)}` },
    lookup: atAddress,
    ...(signal === undefined ? {} : { signal }),
    // A new connection: a kept one would go to where the name led before.
    agent: false,
  })
  request.on('response', answered.resolve)
  request.on('error', answered.reject)
  request.end(body)
  const response = await answered.promise
  const bytes = answerBytesMax === 0 ? '' : await readLimited(response, answerBytesMax)
  response.destroy()
  const text = bytes === 'too_large' ? '' : bytes.toString()
  return { kind: 'answered', status: response.statusCode ?? 0, text }
}
