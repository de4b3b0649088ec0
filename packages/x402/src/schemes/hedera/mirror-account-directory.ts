import type { Clock } from '../../clock.ts'
import type { AccountDirectory, LedgerAccount } from './account-directory.ts'
import type { MirrorNode } from './mirror-node.ts'

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
