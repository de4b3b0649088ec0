import { type EvmAsset, parseEvmAsset } from '@tallystick/x402/evm'

/** Tokens of a chain from a list separated by commas; undefined where one cannot be read or there is none. */
export function parseEvmAssets(text: string, chainId: number): readonly EvmAsset[] | undefined {
  const network = `eip155:${chainId}`
  const assets = text.split(',').map((part) => parseEvmAsset(part, network))
  return assets.every((asset) => asset !== undefined) ? assets : undefined
}
