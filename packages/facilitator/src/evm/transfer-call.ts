import {
  authorizationDigest,
  domainOf,
  domainSeparator,
  type EvmAsset,
  type EvmPayload,
  type Hex,
  readEcdsaSignature,
  recoverSigner,
} from '@tallystick/x402/evm'
import { bytesToHex, encodeFunctionData, parseAbi } from 'viem'

const abi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])

/** A call of a contract. */
export type ContractCall = { readonly to: Hex; readonly data: Hex }

/**
 * The call that submits a signed transfer. A payer's own signature goes in its three parts, with v 27 or 28 as tokens
 * want it, which every token with signed transfers takes; that of a contract wallet goes whole.
 */
export function transferCall(asset: EvmAsset, payload: EvmPayload): ContractCall {
  const { authorization, signature } = payload
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  const head = [from, to, value, validAfter, validBefore, nonce] as const
  const functionName = 'transferWithAuthorization'
  const ecdsa = readEcdsaSignature(signature)
  const digest = authorizationDigest(domainSeparator(domainOf(asset)), authorization)
  if (ecdsa === undefined || recoverSigner(digest, ecdsa) !== from) {
    const args = [...head, bytesToHex(signature)] as const
    return { to: asset.address, data: encodeFunctionData({ abi, functionName, args }) }
  }
  const r = bytesToHex(ecdsa.rs.subarray(0, 32))
  const s = bytesToHex(ecdsa.rs.subarray(32))
  const args = [...head, 27 + ecdsa.recovery, r, s] as const
  return { to: asset.address, data: encodeFunctionData({ abi, functionName, args }) }
}
