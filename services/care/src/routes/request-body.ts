import type { IncomingMessage } from 'node:http'

/** A body as it came over the wire. */
export type RequestBody =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }

/** The sender went away before its body ended: there is nobody to answer. */
export class SenderGone extends Error {
  override readonly name = 'SenderGone'
  /** Not the service's fault, so that it is not logged as one. */
  readonly statusCode = 400
}

/**
 * How much of a body that is refused for its size is still read, so that its sender finishes and sees the answer; who
 * sends more is cut off.
 */
const DISCARDED_BYTES_MAX = 4 * 1_024 * 1_024

/**
 * Reads a body byte for byte, whatever its content type and before any parsing: a MAC is over these bytes. Resolves as
 * `too-large` at the first byte over the limit, or before any where more is announced than would be read. Rejects with
 * `SenderGone`.
 */
export function readRequestBody(
  request: IncomingMessage,
  limitBytes: number,
): Promise<RequestBody> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let total = 0
    const announced = Number(request.headers['content-length'] ?? 0)
    if (announced > limitBytes + DISCARDED_BYTES_MAX) resolve({ kind: 'too-large' })
    request.on('data', (chunk: Buffer) => {
      total += chunk.length
      if (total <= limitBytes) {
        chunks.push(chunk)
        return
      }
      chunks = []
      resolve({ kind: 'too-large' })
      if (total > limitBytes + DISCARDED_BYTES_MAX) request.destroy()
    })
    request.on('end', () => resolve({ kind: 'whole', bytes: Buffer.concat(chunks) }))
    const giveUp = (cause?: unknown): void =>
      reject(new SenderGone('the body did not end', { cause }))
    request.on('error', giveUp)
    request.on('close', () => giveUp())
  })
}
