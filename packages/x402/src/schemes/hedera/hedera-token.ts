/** Fungible tokens of the network (HTS) as a price. */

/** A token that a seller asks for: in dollars, if it stands for one, or in base units. */
export type HederaToken = {
  /** CAIP-2, e.g. `hedera:testnet`. */
  readonly network: string
  /** `0.0.x`. */
  readonly id: string
  /** Digits after the decimal point of one token. */
  readonly decimals: number
}

/** Circle's USDC, by the ids that the reference client knows. */
export const HEDERA_USDC = {
  'hedera:mainnet': { network: 'hedera:mainnet', id: '0.0.456858', decimals: 6 },
  'hedera:testnet': { network: 'hedera:testnet', id: '0.0.429274', decimals: 6 },
} as const satisfies Readonly<Record<string, HederaToken>>

/** The token with that network and id. */
export const findToken = (
  tokens: readonly HederaToken[],
  { asset, network }: { readonly asset: string; readonly network: string },
): HederaToken | undefined =>
  tokens.find((token) => token.network === network && token.id === asset)
