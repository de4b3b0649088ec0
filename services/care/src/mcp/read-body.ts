import type { IncomingMessage } from 'node:http'

/** Reads a request's body; `undefined` where it is larger than it may be. Nothing is called where the client goes meanwhile. */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  take: (body: Uint8Array | undefined) => void,
): void {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return take(undefined)
  const pieces: Buffer[] = []
  let bytes = 0
  const onData = (piece: Buffer): void => {
    bytes += piece.length
    pieces.push(piece)
    if (bytes <= bytesMax) return
    request.off('data', onData)
    request.off('end', onEnd)
    take(undefined)
  }
  const onEnd = (): void => {
    const [first] = pieces
    take(first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces))
  }
  request.on('data', onData)
  request.on('end', onEnd)
  // A client that goes in the middle of its body gets no answer; without a listener the error would be nobody's.
  request.on('error', () => undefined)
}
