import type { AuthorizationKey, EvmLog } from './evm-ledger.ts'
import { addressWord, type Hex, hexOfBytes, topicOf } from './evm-words.ts'

/** EIP-3009's event of a used nonce. */
export const AUTHORIZATION_USED_TOPIC = topicOf('AuthorizationUsed(address,bytes32)')

/** EIP-3009's event of a nonce made useless by its owner. */
export const AUTHORIZATION_CANCELED_TOPIC = topicOf('AuthorizationCanceled(address,bytes32)')

/** ERC-20's event of a transfer. */
export const TRANSFER_TOPIC = topicOf('Transfer(address,address,uint256)')

/** What an authorization moved; amounts in base units. */
export type EvmTransfer = { readonly from: Hex; readonly to: Hex; readonly value: bigint }

/** An address as an indexed event argument. */
export function addressTopic(address: Hex): Hex {
  return hexOfBytes(addressWord(address))
}

/**
 * The transfer that an authorization made, from all logs of its transaction, or undefined. It is the token's next event
 * after `AuthorizationUsed`, as every known token emits them: a transaction may use several authorizations of one payer,
 * and another's transfer of the same amount must not count twice.
 */
export function transferOfAuthorization(
  logs: readonly EvmLog[],
  key: AuthorizationKey,
): EvmTransfer | undefined {
  const ofToken = logs
    .filter((log) => log.address === key.asset)
    .toSorted((left, right) => left.logIndex - right.logIndex)
  const used = ofToken.findIndex(
    ({ topics }) =>
      topics[0] === AUTHORIZATION_USED_TOPIC &&
      topics[1] === addressTopic(key.payer) &&
      topics[2] === key.nonce,
  )
  const next = used < 0 ? undefined : ofToken[used + 1]
  if (next?.topics[0] !== TRANSFER_TOPIC || next.data.length !== 66) return undefined
  const [, from, to] = next.topics
  if (from?.length !== 66 || to?.length !== 66) return undefined
  return { from: `0x${from.slice(26)}`, to: `0x${to.slice(26)}`, value: BigInt(next.data) }
}

/** Whether a transaction's logs show that an authorization paid exactly this. */
export function isPaidBy(
  logs: readonly EvmLog[],
  payment: AuthorizationKey & { readonly payTo: string; readonly amount: bigint },
): boolean {
  const transfer = transferOfAuthorization(logs, payment)
  return (
    transfer?.from === payment.payer &&
    transfer.to === payment.payTo &&
    transfer.value === payment.amount
  )
}
