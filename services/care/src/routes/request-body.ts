import type { IncomingMessage } from 'node:http'

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
