import type { Clock } from '@tallystick/service-kit'
import { fetchJson } from '@tallystick/x402'
import { type PaidResourceReader, ResourceUnavailable } from '../domain/access-parts.ts'

/** Largest body accepted from an upstream, bytes: it is held in memory while the call is metered. */
const BODY_BYTES_MAX = 1_048_576

/** Reads the resource from an upstream that serves JSON (A13); redirects are not followed, since they could lead inwards. */
export function createUpstreamResource(options: {
  readonly url: string
  readonly timeoutMs: number
  readonly clock: Clock
}): PaidResourceReader {
  return {
    async read() {
      const answer = await fetchJson({ ...options, bytesMax: BODY_BYTES_MAX })
      if (answer.kind !== 'answered')
        throw new ResourceUnavailable('the resource could not be read', { cause: answer.cause })
      if (answer.status < 200 || answer.status > 299)
        throw new ResourceUnavailable(`the upstream answered ${answer.status}`)
      return answer.json
    },
  }
}
