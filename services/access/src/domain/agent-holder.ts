/**
 * Addresses for which nobody should buy (A24): nobody holds them, or their holder acts under another one, so that cancelling
 * and guarding would go by that. The challenge says so, and a payment for one is refused unsettled.
 */
import { atMost, type Clock, createCallRate } from '@tallystick/service-kit'
import { longZeroAddress } from '@tallystick/x402/hedera'
import type { AccessParts } from './access-parts.ts'
import { type Hex, ZERO_ADDRESS } from './access-window.ts'

/** The last address that the ledger keeps for its own contracts. */
const SYSTEM_NUMBER_MAX = 0x3ffn

/** An address that encodes an account's number, its last 8 bytes; no account has a number of more than 63 bits. */
const LONG_ZERO = /^0x0{24}[0-7][0-9a-f]{15}$/

/** Whether nobody acts under that address, for a payment that is on the ledger already. Throws LedgerUnavailable. */
export async function isUnheld(
  { contract, log, payTo }: Pick<AccessParts, 'contract' | 'log' | 'payTo'>,
  agent: Hex,
): Promise<boolean> {
  if (contract.isOwn(agent) || BigInt(agent) <= SYSTEM_NUMBER_MAX) return true
  if (agent === longZeroAddress(payTo) || agent === (await log.readEvmAddress(payTo))) return true
  return LONG_ZERO.test(agent) && (await log.readEvmAddress(`0.0.${BigInt(agent)}`)) !== agent
}

/** Longest that a challenge waits for a look-up, milliseconds; then it says nothing. */
const LOOK_UP_MS_MAX = 1_000

/** Look-ups for challenges in a second: a tenth of what the public mirror node takes, since anyone may cause them. */
const LOOK_UPS_PER_SECOND = 5

export type AgentHolder = ReturnType<typeof createAgentHolder>

export function createAgentHolder(
  deps: Pick<AccessParts, 'accounts' | 'contract' | 'sender' | 'payTo'> & { readonly clock: Clock },
) {
  const { accounts, clock, contract, sender } = deps
  const lookUps = createCallRate({ clock, perSecond: LOOK_UPS_PER_SECOND })
  const payTo = new Set<Hex>([sender.address, longZeroAddress(deps.payTo)])

  /** Answers what is known without a look-up. */
  const known = (agent: Hex): string | undefined => {
    if (agent === ZERO_ADDRESS) return 'Nobody holds the zero address: use your own as agent.'
    if (BigInt(agent) <= SYSTEM_NUMBER_MAX)
      return 'Nobody holds this address, which is the ledger’s own: use your own as agent.'
    if (contract.isOwn(agent)) return 'This is the access contract: use your own address as agent.'
    if (payTo.has(agent)) return 'This is the seller’s account: use your own address as agent.'
    return undefined
  }

  /** Throws LedgerUnavailable. */
  const lookUp = async (agent: Hex): Promise<string | undefined> => {
    const accountId = `0.0.${BigInt(agent)}`
    const account = await accounts.account(accountId)
    if (account === undefined || account.evmAddress === agent) return undefined
    return `Account ${accountId} acts under another address: use agent=${account.evmAddress}.`
  }

  return {
    /** For a challenge: why nobody should buy for that address, and the right one; undefined if none or not known in time. */
    async explain(agent: Hex): Promise<string | undefined> {
      const sentence = known(agent)
      if (sentence !== undefined || !LONG_ZERO.test(agent)) return sentence
      if (lookUps.secondsToWait('') !== undefined) return undefined
      return await atMost(
        clock,
        LOOK_UP_MS_MAX,
        lookUp(agent).catch(() => undefined),
      )
    },
    /** For a payment: the same, for certain. Throws LedgerUnavailable. */
    find: async (agent: Hex): Promise<string | undefined> =>
      known(agent) ?? (LONG_ZERO.test(agent) ? await lookUp(agent) : undefined),
  }
}
