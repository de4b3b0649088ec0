/** Payments of a cent, verified against the stand-in's chain, for the tests of the EVM rules. */

import { X_LAYER_USDT0 } from '../schemes/evm/evm-asset.ts'
import { verifyEvmPayment } from '../schemes/evm/exact-evm-scheme.ts'
import {
  centRequirement,
  type EvmPayloadJson,
  EvmStandIn,
  evmPayer,
  payCent,
} from './evm-stand-in.fixture.ts'

export const verify = (
  payload: unknown,
  { chain = new EvmStandIn(), contractWallets = true, requirement = centRequirement() } = {},
) =>
  verifyEvmPayment(payload, requirement, {
    assets: [X_LAYER_USDT0],
    ledger: chain.ledger,
    contractWallets,
    nowSeconds: chain.nowSeconds,
  })

export const refusal = async (
  payload: unknown,
  options?: Parameters<typeof verify>[1],
): Promise<string> => {
  const verification = await verify(payload, options)
  return verification.kind === 'refused' ? verification.reason : verification.kind
}

/** A payload with changed fields, signed after the change. */
export async function payWith(changes: Record<string, string>): Promise<EvmPayloadJson> {
  const honest = await payCent()
  const { from, nonce, to, validAfter, validBefore, value } = {
    ...(honest.authorization as Record<'from' | 'to' | 'nonce', `0x${string}`> &
      Record<'value' | 'validAfter' | 'validBefore', string>),
    ...changes,
  }
  const signature = await evmPayer.signTypedData({
    domain: { ...X_LAYER_USDT0, chainId: 196, verifyingContract: X_LAYER_USDT0.address },
    types: {} as never,
    primaryType: 'TransferWithAuthorization',
    message: {
      from,
      to,
      nonce,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
  })
  return { authorization: { from, to, value, validAfter, validBefore, nonce }, signature }
}
