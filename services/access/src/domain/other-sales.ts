import type { Hex } from './access-window.ts'
import type { AccessParts } from './ports.ts'

/**
 * Contracts that payTo pays and that nobody announced (A23): their sales are credits that this contract does not know, and
 * would be opened here a second time. Read from `fromSeconds` on, Unix seconds, as far as it was not read before.
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
    const address = await log.contractAddressOf(accountId)
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
    /** The first such contract. What it sold stays sold, so that only a restart with it announced clears this. */
    found: (): Hex | undefined => found,
  }
}
