import { z } from 'zod'

/** Reads an account's balance, tinybar; undefined where there is no such account or the mirror node does not answer. */
export type BalanceReader = (accountId: string) => Promise<bigint | undefined>

/** A mirror node that takes longer is not waited for: the balance is looked at to spare a fee, not to be safe. */
const ANSWER_LIMIT_MS = 3_000

const accountSchema = z.object({ balance: z.object({ balance: z.int().min(0) }) })

/**
 * Returns a reader of balances through a mirror node. Consensus nodes answer balance queries no more (removed from
 * testnet in August 2026), and a mirror node lags by seconds: what it says is a hint.
 */
export function mirrorBalances({ mirrorUrl }: { readonly mirrorUrl: string }): BalanceReader {
  const base = mirrorUrl.replace(/\/+$/, '')
  return async (accountId) => {
    try {
      const response = await fetch(`${base}/api/v1/accounts/${accountId}?transactions=false`, {
        signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
      })
      const parsed = accountSchema.safeParse(await response.json())
      return parsed.success ? BigInt(parsed.data.balance.balance) : undefined
    } catch {
      return undefined
    }
  }
}
