import { type Clock, keptRead } from '@tallystick/service-kit'
import { fetchJson } from '@tallystick/x402'
import { type PaidResourceReader, ResourceUnavailable } from '../domain/paid-resource-reader.ts'
import { type LedgerFacts, WEIBAR_PER_TINYBAR } from './ledger-facts.ts'

/** Conditions older than this are read again, milliseconds: a ledger's block takes about two seconds. */
const KEPT_MS = 2_000

/** Conditions up to this age are served during a new read, milliseconds: a mirror node lags as much. They name their second. */
const SHOWN_MS = 10_000

/** The default resource (A13): the ledger's block with its time, gas price and HBAR rate. */
export function createLedgerConditions(options: {
  readonly facts: LedgerFacts
  readonly network: string
  readonly clock: Clock
}): PaidResourceReader {
  const { clock, facts, network } = options
  let last: { readonly atMs: number; readonly conditions: unknown } | undefined

  const ask = keptRead({
    clock,
    keptMs: KEPT_MS,
    async read(): Promise<unknown> {
      try {
        const atMs = clock.unixMs()
        const [block, gasPriceWeibar, tinycentsPerHbar] = await Promise.all([
          facts.latestBlock(),
          facts.gasPriceWeibar(),
          facts.tinycentsPerHbar(),
        ])
        const conditions = {
          network,
          block,
          gasPriceTinybar: (gasPriceWeibar / WEIBAR_PER_TINYBAR).toString(),
          usdPerHbar: usdText(tinycentsPerHbar),
          readAt: Math.floor(atMs / 1000),
        }
        last = { atMs, conditions }
        return conditions
      } catch (error) {
        throw new ResourceUnavailable('the ledger’s conditions could not be read', { cause: error })
      }
    },
  })
  return {
    warm: () => void ask().catch(() => undefined),
    async read() {
      const reading = ask()
      if (last === undefined || clock.unixMs() - last.atMs > SHOWN_MS) return reading
      // A failure shows once these are too old.
      reading.catch(() => undefined)
      return last.conditions
    },
  }
}

/** Dollars with eight digits after the point, from tinycents (1e-8 cent). */
function usdText(tinycents: bigint): string {
  const eighths = tinycents / 100n
  return `${eighths / 100_000_000n}.${String(eighths % 100_000_000n).padStart(8, '0')}`
}

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
