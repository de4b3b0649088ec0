import { type Clock, systemClock } from '../../clock.ts'
import type { LedgerAccount, MirrorNode } from './mirror-node.ts'

/** Accounts kept; about 200 bytes each. */
const ACCOUNTS_MAX = 10_000

/** How long an account is kept: keys rarely change, and a failed signature causes a new read at once. */
const KEPT_MS = 300_000

/** Shortest time between two reads of an account, however many bad signatures arrive in its name. */
const REFRESH_MIN_MS = 2_000

type Entry = { readonly account: LedgerAccount | undefined; readonly readAtMs: number }

/** Looks up accounts by id, EVM address or key alias. */
export type AccountDirectory = ReturnType<typeof createMirrorAccountDirectory>

/**
 * Accounts from a mirror node, kept in bounded memory (the one read longest ago is dropped first). Unknown accounts are
 * kept for only 2 s, since a new account may appear at any moment. Concurrent calls for one name share one read.
 */
export function createMirrorAccountDirectory(options: {
  readonly mirror: Pick<MirrorNode, 'account'>
  readonly clock?: Clock | undefined
  readonly accountsMax?: number
}) {
  const { clock = systemClock, mirror, accountsMax = ACCOUNTS_MAX } = options
  const entries = new Map<string, Entry>()
  const reading = new Map<string, Promise<LedgerAccount | undefined>>()

  async function read(name: string): Promise<LedgerAccount | undefined> {
    const account = await mirror.account(name)
    entries.delete(name)
    entries.set(name, { account, readAtMs: clock.unixMs() })
    const oldest = entries.keys().next().value
    if (entries.size > accountsMax && oldest !== undefined) entries.delete(oldest)
    return account
  }

  async function atMostOld(name: string, ageMs: number): Promise<LedgerAccount | undefined> {
    const entry = entries.get(name)
    const keptMs = entry?.account === undefined ? Math.min(ageMs, REFRESH_MIN_MS) : ageMs
    if (entry !== undefined && clock.unixMs() - entry.readAtMs < keptMs) return entry.account
    const shared = reading.get(name) ?? read(name).finally(() => reading.delete(name))
    reading.set(name, shared)
    return await shared
  }

  return {
    /** May answer from memory. Undefined if the account does not exist. Throws LedgerUnavailable. */
    account: (name: string) => atMostOld(name, KEPT_MS),
    /** Reads the ledger again, in case the key changed; still rate-limited. Throws LedgerUnavailable. */
    refresh: (name: string) => atMostOld(name, REFRESH_MIN_MS),
  }
}
