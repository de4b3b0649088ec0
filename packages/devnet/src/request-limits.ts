// How many requests the public relay and mirror node take from one caller. A caller is an address, or a name in front of the
// path (`/as/NAME`) for processes that share a machine here but would have their own addresses there.

import type { IncomingMessage } from 'node:http'
import type { Clock } from '@tallystick/service-kit'
import type { RelayLimits } from './ledger/network-faults.ts'

/** The relay's tiers (methodConfiguration.ts of hiero-json-rpc-relay); every other method it knows is in the second. */
const TIERS: Readonly<Record<string, 'tier1' | 'tier3' | undefined>> = {
  eth_call: 'tier1',
  eth_sendRawTransaction: 'tier1',
  eth_sendTransaction: 'tier1',
  eth_sign: 'tier1',
  eth_signTransaction: 'tier1',
  eth_submitHashrate: 'tier1',
  eth_submitWork: 'tier1',
  eth_hashrate: 'tier1',
  eth_maxPriorityFeePerGas: 'tier1',
  eth_mining: 'tier1',
  eth_syncing: 'tier1',
  net_listening: 'tier3',
  net_version: 'tier3',
  net_peerCount: 'tier3',
  web3_clientVersion: 'tier3',
  web3_sha3: 'tier3',
}

/** Calls of that method that one caller may make in a minute. */
export function relayLimit(method: string, limits: RelayLimits): number {
  return limits[TIERS[method] ?? (method.startsWith('eth_') ? 'tier2' : 'other')]
}

/** Callers remembered at once; a local ledger has a handful. */
const CALLERS_MAX = 1_000

/** Counts by caller in windows that begin with a caller's first request, as the relay does. */
export function createRequestCounter(clock: Pick<Clock, 'unixMs'>, windowMs: number) {
  const callers = new Map<string, { endsAtMs: number; counts: Map<string, number> }>()

  return {
    /** Counts a request; false if the caller has used up its limit for `what` in this window. */
    take(caller: string, what: string, limit: number): boolean {
      const nowMs = clock.unixMs()
      let window = callers.get(caller)
      if (window === undefined || window.endsAtMs <= nowMs) {
        window = { endsAtMs: nowMs + windowMs, counts: new Map() }
        if (callers.size >= CALLERS_MAX) callers.clear()
        callers.set(caller, window)
      }
      const count = window.counts.get(what) ?? 0
      if (count >= limit) return false
      window.counts.set(what, count + 1)
      return true
    },
  }
}

const named = new WeakMap<IncomingMessage, string>()

/** For Fastify's `rewriteUrl`: takes `/as/NAME` off the front and remembers the name. */
export function withoutCaller(request: IncomingMessage): string {
  const [, name, path] = /^\/as\/([\w-]{1,64})(\/.*|\?.*)?$/.exec(request.url ?? '/') ?? []
  if (name === undefined) return request.url ?? '/'
  named.set(request, name)
  return path === undefined || !path.startsWith('/') ? `/${path ?? ''}` : path
}

/** The caller that a request counts against. */
export function findCaller(request: { raw: IncomingMessage; ip: string }): string {
  return named.get(request.raw) ?? request.ip
}
