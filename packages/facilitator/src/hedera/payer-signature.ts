import {
  evmAddressOf,
  type HederaKey,
  isSignedBy,
  type LedgerAccount,
  readTransfer,
  type SignedBody,
} from '@tallystick/x402/hedera'

/** The key that must have signed: the account's or, for a hollow account, the one that its address was made from (HIP-583). */
function signingKey(account: LedgerAccount, body: SignedBody): HederaKey | undefined {
  if (account.key !== null) return account.key
  const pair = body.signatures.find(
    ({ kind, prefix }) => kind === 'ecdsa' && evmAddressOf(prefix) === account.evmAddress,
  )
  return pair === undefined ? undefined : { kind: 'ecdsa', publicKey: pair.prefix }
}

/**
 * Whether the payer has signed every body of a payment. The fee payer asks this itself, next to the rules that it shares
 * with the gate: what it signs and the payer has not costs a fee for each attempt.
 */
export function isSignedByPayer(transactionList: Uint8Array, payer: LedgerAccount): boolean {
  const reading = readTransfer(transactionList)
  if (reading.kind === 'refused') return false
  return reading.transfer.bodies.every((body) => {
    const key = signingKey(payer, body)
    return key !== undefined && isSignedBy(body, key)
  })
}
