/** How much free work one address, or one IPv6 /64, may ask for in a minute. */
import {
  BoundedMap,
  type Clock,
  clientNetwork,
  type ErrorAnswer,
  MINUTE_MS,
} from '@tallystick/service-kit'
import { errorAnswer } from '../errors.ts'

/** Addresses remembered; beyond that, the oldest are forgotten. */
const ADDRESSES_MAX = 10_000

/** How many equal processes serve a store: a proxy gives each of them its share of an address's requests. */
export type CountProcesses = () => number

/**
 * Counts what each address has asked for; gives the refusal, with the seconds to wait, once it has spent its minute. Each of
 * several processes allows its share.
 */
export function createAddressLimit(
  clock: Clock,
  mostPerMinute: number,
  countProcesses: CountProcesses = () => 1,
): (address: string, cost: number) => ErrorAnswer | undefined {
  const addresses = new BoundedMap<string, { readonly sinceMs: number; spent: number }>(
    ADDRESSES_MAX,
  )
  return (address, cost) => {
    const now = clock.unixMs()
    const client = clientNetwork(address)
    const known = addresses.get(client)
    if (known === undefined || now - known.sinceMs >= MINUTE_MS) {
      addresses.set(client, { sinceMs: now, spent: cost })
      return undefined
    }
    known.spent += cost
    if (known.spent <= mostPerMinute / countProcesses()) return undefined
    const retryAfterSeconds = Math.max(1, Math.ceil((known.sinceMs + MINUTE_MS - now) / 1_000))
    return errorAnswer('too_many_requests', { retryAfterSeconds })
  }
}
