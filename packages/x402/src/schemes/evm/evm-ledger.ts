import { z } from 'zod'
import { LedgerUnavailable } from '../payment-scheme.ts'
import { domainSeparatorHex } from './authorization.ts'
import { type EvmAsset, evmChainId } from './evm-asset.ts'
import { type Hex, hexSchema, wordSchema } from './evm-words.ts'

/** What makes an authorization unique: the token, who signed, and the nonce. All in lower case. */
export type AuthorizationKey = { readonly asset: Hex; readonly payer: Hex; readonly nonce: Hex }

/** A number in hex, as JSON-RPC writes one. */
export const quantitySchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform(BigInt)

export const blockSchema = z
  .object({ number: quantitySchema, timestamp: quantitySchema })
  .transform(({ number, timestamp }) => ({ number, timestampSeconds: Number(timestamp) }))

/** One event of a contract. Address, topics and data in lower case. */
export const logSchema = z
  .object({
    address: hexSchema,
    topics: z.array(wordSchema),
    data: hexSchema,
    logIndex: quantitySchema.transform(Number),
    transactionHash: wordSchema,
    blockNumber: quantitySchema,
    removed: z.boolean().optional(),
  })
  .transform(({ transactionHash: transaction, ...rest }) => ({ ...rest, transaction }))

/** What a transaction did; its logs in the order in which they were emitted. */
export const receiptSchema = z
  .object({
    transactionHash: wordSchema,
    status: quantitySchema,
    blockNumber: quantitySchema,
    logs: z.array(logSchema),
  })
  .transform(({ status, transactionHash: transaction, ...rest }) => {
    return { ...rest, transaction, isSuccess: status === 1n }
  })

export type EvmBlock = Readonly<z.output<typeof blockSchema>>
export type EvmLog = Readonly<z.output<typeof logSchema>>
export type EvmReceipt = Readonly<z.output<typeof receiptSchema>>

/** What payments need to read of an EVM chain. Every method throws LedgerUnavailable. */
export type EvmLedger = {
  chainId(): Promise<number>
  latestBlock(): Promise<EvmBlock>
  /** Throws LedgerUnavailable also where the node does not know the block. */
  block(number: bigint): Promise<EvmBlock>
  /** `authorizationState` at a block, the latest by default; true also for a cancelled nonce. */
  isAuthorizationUsed(key: AuthorizationKey, atBlock?: bigint): Promise<boolean>
  /** `AuthorizationUsed` and `AuthorizationCanceled` events of that nonce in a range of blocks, ends included. */
  authorizationLogs(
    key: AuthorizationKey,
    range: { readonly fromBlock: bigint; readonly toBlock: bigint },
  ): Promise<readonly EvmLog[]>
  /** Undefined where the transaction is in no block. */
  receipt(transaction: Hex): Promise<EvmReceipt | undefined>
  hasCode(address: Hex): Promise<boolean>
  /** Whether a contract accepts a signature as its own (EIP-1271); false where it reverts. */
  isValidSignature(asked: {
    readonly wallet: Hex
    readonly digest: Uint8Array
    readonly signature: Uint8Array
  }): Promise<boolean>
  /** A token's `DOMAIN_SEPARATOR()`. */
  domainSeparator(asset: Hex): Promise<Hex>
  /** A token balance in base units. */
  balanceOf(asset: Hex, owner: Hex): Promise<bigint>
}

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
