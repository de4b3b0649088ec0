import type { Hex } from './evm-words.ts'

/** A token with signed transfers (EIP-3009), named as in what payers sign. */
export type EvmAsset = {
  /** CAIP-2, e.g. `eip155:196`. */
  readonly network: string
  /** Lower or mixed case. */
  readonly address: Hex
  /** EIP-712 domain name, byte for byte as in the contract. */
  readonly name: string
  /** EIP-712 domain version. */
  readonly version: string
  /** Digits after the decimal point of one token. */
  readonly decimals: number
}

/** CAIP-2 name of X Layer. */
export const X_LAYER_NETWORK = 'eip155:196'

/** USD₮0 on X Layer (G9). The name contains U+20AE; on other chains the same address has the name `USDT0`. */
export const X_LAYER_USDT0: EvmAsset = {
  network: X_LAYER_NETWORK,
  address: '0x779Ded0c9e1022225f8E0630b35a9b54bE713736',
  name: 'USD₮0',
  version: '1',
  decimals: 6,
}

/** Whether a text is an address: `0x` and 40 hex digits, checksum unchecked. */
export function isEvmAddress(text: string): text is Hex {
  return /^0x[0-9a-fA-F]{40}$/.test(text)
}

/** Chain id of an EVM network's CAIP-2 name; undefined for any other text. */
export function evmChainId(network: string): number | undefined {
  const digits = /^eip155:([1-9]\d{0,15})$/.exec(network)?.[1]
  return digits === undefined || !Number.isSafeInteger(Number(digits)) ? undefined : Number(digits)
}

/** The asset with that network and address, whatever the address's case. */
export function findAsset(
  assets: readonly EvmAsset[],
  wanted: { readonly network: string; readonly asset: string },
): EvmAsset | undefined {
  const address = wanted.asset.toLowerCase()
  return assets.find(
    (asset) => asset.network === wanted.network && asset.address.toLowerCase() === address,
  )
}

/**
 * Reads `address/name/version/decimals` for a network, as in an environment variable; a known asset needs only its
 * address. Undefined for anything else.
 */
export function parseEvmAsset(text: string, network: string): EvmAsset | undefined {
  const [address = '', name, version, decimals, ...rest] = text.trim().split('/')
  if (!isEvmAddress(address) || rest.length > 0 || evmChainId(network) === undefined)
    return undefined
  if (name === undefined) return findAsset([X_LAYER_USDT0], { network, asset: address })
  if (name === '' || version === undefined || version === '') return undefined
  if (decimals === undefined || !/^(?:\d|[1-6]\d|7[0-7])$/.test(decimals)) return undefined
  return { network, address, name, version, decimals: Number(decimals) }
}
