import { LedgerUnavailable } from '../payment-scheme.ts'
import { domainSeparatorHex } from './authorization-digest.ts'
import { type EvmAsset, evmChainId } from './evm-asset.ts'
import type { EvmLedger } from './evm-ledger.ts'

/** What a look at the chain says of an asset's configuration. `unreachable` says nothing: the service starts (X11). */
export type DomainCheck =
  | { readonly kind: 'right' }
  | { readonly kind: 'wrong_chain'; readonly chainId: number }
  /** The token signs under another name, version, chain or address: no payment of ours would be accepted by it. */
  | { readonly kind: 'wrong_domain'; readonly found: string; readonly expected: string }
  | { readonly kind: 'unreachable'; readonly cause: unknown }

/** Compares an asset with the token's own `DOMAIN_SEPARATOR` (G9); to be asked at start. Never throws for the chain. */
export async function checkEvmDomain(
  asset: EvmAsset,
  ledger: Pick<EvmLedger, 'chainId' | 'domainSeparator'>,
): Promise<DomainCheck> {
  try {
    const chainId = await ledger.chainId()
    if (chainId !== evmChainId(asset.network)) return { kind: 'wrong_chain', chainId }
    const found = await ledger.domainSeparator(asset.address)
    const expected = domainSeparatorHex(asset)
    return found === expected ? { kind: 'right' } : { kind: 'wrong_domain', found, expected }
  } catch (cause) {
    if (!(cause instanceof LedgerUnavailable)) throw cause
    return { kind: 'unreachable', cause }
  }
}
