import type { Clock } from '../../clock.ts'
import type { HederaKey } from './hedera-key.ts'
import type { MirrorNode } from './mirror-node.ts'

/** An account as the ledger knows it. */
export type LedgerAccount = {
  /** `shard.realm.num`. */
  readonly accountId: string
  /** `0x` and 40 lower-case hex digits; the long-zero form where the account has no EVM alias. */
  readonly evmAddress: `0x${string}`
  /** Null for a hollow account, whose first signature brings its key. */
  readonly key: HederaKey | null
  readonly isDeleted: boolean
  /** As the mirror node last knew it, which lags by seconds; undefined where it is not told. */
  readonly balanceTinybar?: bigint | undefined
}

/** Where accounts are looked up, by id, by EVM address or by key alias. */
export type AccountDirectory = {
  /** May answer from a cache. Undefined for an account that does not exist. Throws LedgerUnavailable. */
  account(name: string): Promise<LedgerAccount | undefined>
  /** Asks the ledger anew, for a key that may have changed; still bounded in how often. Throws LedgerUnavailable. */
  refresh(name: string): Promise<LedgerAccount | undefined>
}

export type MirrorAccountDirectoryOptions = {
  readonly mirror: Pick<MirrorNode, 'account'>
  readonly clock: Clock
  readonly accountsMax?: number
}

/** Accounts kept; about 200 bytes each. */
const ACCOUNTS_MAX = 10_000

/** How long an account is believed: keys change rarely, and a failed signature asks anew at once. */
const KEPT_MS = 300_000

/** One account is asked for at most this often, however many bad signatures come under its name. */
const REFRESH_MIN_MS = 2_000

type Entry = { readonly account: LedgerAccount | undefined; readonly readAtMs: number }

/**
 * Accounts through a mirror node, remembered in bounded memory (the one read longest ago goes first). Unknown accounts
 * are remembered for 2 s only, since a new one may appear at any moment. Calls for one name at once share one read.
 */
export function createMirrorAccountDirectory(
  options: MirrorAccountDirectoryOptions,
): AccountDirectory {
  const { clock, mirror, accountsMax = ACCOUNTS_MAX } = options
  const entries = new Map<string, Entry>()
  const reading = new Map<string, Promise<LedgerAccount | undefined>>()

  async function read(name: string): Promise<LedgerAccount | undefined> {
    const account = await mirror.account(name)
    entries.delete(name)
    entries.set(name, { account, readAtMs: clock.unixMs() })
    for (const oldest of entries.keys()) {
      if (entries.size <= accountsMax) break
      entries.delete(oldest)
    }
    return account
  }

  async function atMostOld(name: string, ageMs: number): Promise<LedgerAccount | undefined> {
    const entry = entries.get(name)
    const keptMs = entry?.account === undefined ? Math.min(ageMs, REFRESH_MIN_MS) : ageMs
    if (entry !== undefined && clock.unixMs() - entry.readAtMs < keptMs) return entry.account
    const shared = reading.get(name)
    if (shared !== undefined) return await shared
    const own = read(name).finally(() => reading.delete(name))
    reading.set(name, own)
    return await own
  }

  return {
    account: (name) => atMostOld(name, KEPT_MS),
    refresh: (name) => atMostOld(name, REFRESH_MIN_MS),
  }
}
