import type { AccessParts } from './access-parts.ts'
import type { Hex } from './access-window.ts'

/**
 * Unannounced contracts that payTo pays (A23). This contract does not know the credits that they sold, and would open them
 * a second time. Reads on from `fromSeconds`, Unix seconds.
 */
export function createOtherSales(
  { contract, log }: Pick<AccessParts, 'contract' | 'log'>,
  fromSeconds: number,
) {
  const known = new Set<string>()
  let readTo = `${fromSeconds}.000000000`
  let found: Hex | undefined

  const look = async (accountId: string): Promise<void> => {
    if (known.has(accountId)) return
    const address = await log.findContractAddress(accountId)
    if (address !== undefined && !contract.isOwn(address)) found ??= address
    known.add(accountId)
  }

  return {
    /** Throws LedgerUnavailable. */
    async readOn(): Promise<void> {
      for await (const { consensusTimestamp, receivers } of log.forwardsAfter(readTo)) {
        for (const accountId of receivers) await look(accountId)
        readTo = consensusTimestamp
      }
    },
    /** The first such contract. What it sold stays sold, so only a restart that announces it clears this. */
    found: (): Hex | undefined => found,
  }
}
