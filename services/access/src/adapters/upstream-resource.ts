import { type PaidResourceReader, ResourceUnavailable } from '../domain/paid-resource.ts'

/** Largest body that is taken from an upstream: it is held in memory while the call is metered. */
const BODY_BYTES_MAX = 1_048_576

/** Reads the resource from an upstream that serves JSON (A13); redirects are not followed, since they could lead inwards. */
export function createUpstreamResource(options: {
  readonly url: string
  readonly timeoutMs: number
}): PaidResourceReader {
  return {
    async read() {
      try {
        const response = await fetch(options.url, {
          signal: AbortSignal.timeout(options.timeoutMs),
          headers: { accept: 'application/json' },
          redirect: 'error',
        })
        if (!response.ok) throw new Error(`the upstream answered ${response.status}`)
        return JSON.parse(await readText(response)) as unknown
      } catch (error) {
        throw new ResourceUnavailable('the resource could not be read', { cause: error })
      }
    },
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > BODY_BYTES_MAX)
      throw new Error(`the upstream sent more than ${BODY_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
}
