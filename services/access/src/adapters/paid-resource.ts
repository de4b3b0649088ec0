import { type Clock, readLimited } from '@tallystick/service-kit'
import { TINYBAR_PER_HBAR } from '@tallystick/x402/hedera'
import type { PublicClient } from 'viem'
import { type PaidResourceReader, ResourceUnavailable } from '../domain/ports.ts'
import { WEIBAR_PER_TINYBAR } from './ledger-client.ts'

/** Hedera's exchange-rate system contract (HIP-475). */
const EXCHANGE_RATE_ADDRESS = '0x0000000000000000000000000000000000000168'

const exchangeRateAbi = [
  {
    type: 'function',
    name: 'tinybarsToTinycents',
    stateMutability: 'view',
    inputs: [{ name: 'tinybars', type: 'uint256' }],
    outputs: [{ name: 'tinycents', type: 'uint256' }],
  },
] as const

/** What one HBAR is worth, 1e-8 of a US cent. Throws viem's errors. */
export const readTinycentsPerHbar = (client: PublicClient): Promise<bigint> =>
  client.readContract({
    address: EXCHANGE_RATE_ADDRESS,
    abi: exchangeRateAbi,
    functionName: 'tinybarsToTinycents',
    args: [TINYBAR_PER_HBAR],
  })

/** Conditions read once serve the calls of this long, milliseconds: a ledger's block takes about two seconds. */
const KEPT_MS = 1_000

/** Reads the default resource (A13) from the chain: the ledger's block with its time, gas price and HBAR rate. */
export function createLedgerConditions(options: {
  readonly client: PublicClient
  readonly network: string
  readonly clock: Clock
}): PaidResourceReader {
  const { client, network, clock } = options
  let kept: { readonly untilMs: number; readonly conditions: Promise<unknown> } | undefined

  const readConditions = async (): Promise<unknown> => {
    try {
      const [block, gasPriceWeibar, tinycentsPerHbar] = await Promise.all([
        client.getBlock(),
        client.getGasPrice(),
        readTinycentsPerHbar(client),
      ])
      return {
        network,
        block: {
          number: Number(block.number),
          hash: block.hash,
          timestamp: Number(block.timestamp),
        },
        gasPriceTinybar: (gasPriceWeibar / WEIBAR_PER_TINYBAR).toString(),
        usdPerHbar: usdText(tinycentsPerHbar),
        readAt: Math.floor(clock.unixMs() / 1000),
      }
    } catch (error) {
      throw new ResourceUnavailable('the ledger’s conditions could not be read', { cause: error })
    }
  }

  return {
    read() {
      if (kept === undefined || kept.untilMs <= clock.unixMs()) {
        const conditions = readConditions()
        const entry = { untilMs: clock.unixMs() + KEPT_MS, conditions }
        kept = entry
        conditions.catch(() => {
          if (kept === entry) kept = undefined
        })
      }
      return kept.conditions
    },
  }
}

/** Dollars with eight digits after the point, from tinycents (1e-8 cent). */
function usdText(tinycents: bigint): string {
  const eighths = tinycents / 100n
  return `${eighths / 100_000_000n}.${String(eighths % 100_000_000n).padStart(8, '0')}`
}

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
        const bytes = await readLimited(response.body, BODY_BYTES_MAX)
        if (bytes === 'too_large')
          throw new Error(`the upstream sent more than ${BODY_BYTES_MAX} bytes`)
        return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
      } catch (error) {
        throw new ResourceUnavailable('the resource could not be read', { cause: error })
      }
    },
  }
}
