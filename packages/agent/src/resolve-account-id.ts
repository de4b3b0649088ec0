import type { Clock } from '@tallystick/x402'
import { createMirrorNode } from '@tallystick/x402/hedera'
import type { Address } from 'viem'

/** No account of the network has the key's EVM address: it was never funded there. */
export class AccountUnknown extends Error {
  override readonly name = 'AccountUnknown'
}

/** The account id `0.0.x` of an EVM address, from the mirror node. Throws AccountUnknown or x402's LedgerUnavailable. */
export async function resolveAccountId(options: {
  readonly mirrorUrl: string
  readonly evmAddress: Address
  readonly clock: Clock
}): Promise<string> {
  const mirror = createMirrorNode({ url: options.mirrorUrl, clock: options.clock })
  const account = await mirror.account(options.evmAddress)
  if (account === undefined) {
    throw new AccountUnknown(
      `The network has no account for ${options.evmAddress} yet: send some HBAR there, or set AGENT_ACCOUNT_ID.`,
    )
  }
  return account.accountId
}
