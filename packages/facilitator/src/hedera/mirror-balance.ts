import { type Clock, fetchJson } from '@tallystick/x402'
import { z } from 'zod'

/** Reads an account's balance, tinybar; undefined where there is no such account or the mirror node does not answer. */
export type BalanceReader = (accountId: string) => Promise<bigint | undefined>

export type MirrorBalancesOptions = {
  /** Base address, without `/api/v1`. */
  readonly mirrorUrl: string
  readonly clock: Clock
}

/** A mirror node that takes longer is not waited for: the balance is looked at to spare a fee, not to be safe. */
const TIMEOUT_MS = 3_000

/** An account with the hundred tokens that are told along is some 10 kB. */
const ANSWER_BYTES_MAX = 65_536

const accountSchema = z.object({ balance: z.object({ balance: z.int().min(0) }) })

/**
 * Returns a reader of balances through a mirror node. Consensus nodes answer balance queries no more (removed from
 * testnet in August 2026), and a mirror node lags by seconds: what it says is a hint.
 */
export function mirrorBalances({ clock, mirrorUrl }: MirrorBalancesOptions): BalanceReader {
  const base = mirrorUrl.replace(/\/+$/, '')
  return async (accountId) => {
    const answer = await fetchJson({
      url: `${base}/api/v1/accounts/${accountId}?transactions=false`,
      clock,
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
    })
    if (answer.kind !== 'answered') return undefined
    const { data } = accountSchema.safeParse(answer.json)
    return data === undefined ? undefined : BigInt(data.balance.balance)
  }
}
