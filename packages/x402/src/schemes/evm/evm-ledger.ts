/**
 * Reads an EVM chain over JSON-RPC, as far as payments need. Every answer is bounded in time and size and parsed; any
 * failure of the node throws LedgerUnavailable. Nothing here holds a key or sends anything to the chain.
 */
import { z } from 'zod'
import { httpUrl } from '../../bad-argument.ts'
import { type Clock, systemClock } from '../../clock.ts'
import { createJsonRpc } from '../../json-rpc.ts'
import type { VerifiedPayment } from '../../payment.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import { domainSeparator, signingDomain } from './authorization.ts'
import { type EvmAsset, evmChainId } from './evm-asset.ts'
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  addressWord,
  bytesOfHex,
  type Hex,
  hexOfBytes,
  hexSchema,
  keccakOfText,
  uintWord,
  wordSchema,
} from './evm-words.ts'

/** An authorization is unique by token, signer and nonce, all in lower case. */
export type AuthorizationKey = Pick<VerifiedPayment, 'asset' | 'payer' | 'nonce'>

/** A hex number as JSON-RPC writes it. */
const quantitySchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform(BigInt)

const blockSchema = z
  .object({ number: quantitySchema, timestamp: quantitySchema })
  .transform(({ number, timestamp }) => ({ number, timestampSeconds: Number(timestamp) }))

/** One event of a contract; address, topics and data in lower case. */
const logSchema = z
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

/** A transaction did this; its logs are in order of emission. */
const receiptSchema = z
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

/**
 * The most gas that a token transfer, or a contract's check of its own signature, may use (X14): several times what known
 * tokens and wallets need, and little enough that a looping wallet costs nothing.
 */
export const TRANSFER_GAS_MAX = 250_000n

/** EIP-1271's answer for a valid signature: the padded selector of its own function. */
const VALID_SIGNATURE = '0x1626ba7e'.padEnd(66, '0')

/** The four bytes that select a function. */
const functionSelector = (signature: string): Buffer => keccakOfText(signature).subarray(0, 4)

const SELECTORS = {
  authorizationState: functionSelector('authorizationState(address,bytes32)'),
  balanceOf: functionSelector('balanceOf(address)'),
  domainSeparator: functionSelector('DOMAIN_SEPARATOR()'),
  isValidSignature: functionSelector('isValidSignature(bytes32,bytes)'),
}

/** A public node answers in 0.1 to 1 s. */
const TIMEOUT_MS = 5_000

/** A receipt of a batch with hundreds of logs is about 100 kB. */
const ANSWER_BYTES_MAX = 1_048_576

/** Calls in one request; public nodes refuse longer ones. */
const CALLS_MAX = 20

/** Longest wait behind another request: a settlement takes a thousand times as long. */
const GATHER_MS = 2

/** The contract reverted the call; every other error answer is the node's own failure. */
class CallReverted extends LedgerUnavailable {}

/**
 * How nodes name what a contract's own code did wrong: Geth in words ("invalid opcode: INVALID"), Reth and anvil by the names of
 * their engine ("InvalidFEOpcode"), Nethermind as "VM execution error".
 */
const CONTRACT_FAULT =
  /revert|opcode|stack ?(under|over)flow|stack limit|invalid ?jump|out ?of ?(gas|offset)|gas required exceeds|gas uint64 overflow|write protection|static ?call|return data out|call ?(too ?deep|depth)|create ?collision|precompile ?error|vm execution error/i

/** Whether an error of a node blames the called contract, and not the node itself. */
export const isContractFault = (message: string): boolean => CONTRACT_FAULT.test(message)

/** Code 3 is Geth's; other nodes only say it in the message. */
const isRevert = (code: number, message: string): boolean => code === 3 || isContractFault(message)

/** Calls a node and parses the answers. Throws LedgerUnavailable, and CallReverted if a contract refuses. */
function createReader(options: { readonly url: string; readonly clock: Clock }) {
  const call = createJsonRpc({
    ...options,
    timeoutMs: TIMEOUT_MS,
    bytesMax: ANSWER_BYTES_MAX,
    callsMax: CALLS_MAX,
    gatherMs: GATHER_MS,
    requestsMax: Number.POSITIVE_INFINITY,
  })
  return async <Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    params: readonly unknown[],
  ): Promise<z.output<Schema>> => {
    const outcome = await call(method, params)
    if (outcome.kind === 'refused') {
      const { code, message } = outcome
      if (isRevert(code, message)) throw new CallReverted(message)
      throw new LedgerUnavailable(`the node refused ${method}`, { cause: outcome })
    }
    if (outcome.kind === 'failed')
      throw new LedgerUnavailable(`the node did not answer ${method}`, outcome.answer)
    const parsed = schema.safeParse(outcome.result)
    if (parsed.success) return parsed.data
    const { error: cause } = parsed
    throw new LedgerUnavailable(`the node's answer to ${method} is unreadable`, { cause })
  }
}

/** Payments read this from an EVM chain. Every method throws LedgerUnavailable. */
export type EvmLedger = ReturnType<typeof createJsonRpcLedger>

/** The chain behind a JSON-RPC URL. */
export function createJsonRpcLedger(options: {
  readonly url: string
  readonly clock?: Clock | undefined
}) {
  const { clock = systemClock, url } = options
  const call = createReader({ clock, url: httpUrl('url', url) })
  /** The one word that a view function returns at a block. */
  const view = async (to: string, parts: readonly Uint8Array[], atBlock?: bigint): Promise<Hex> => {
    try {
      const data = hexOfBytes(Buffer.concat(parts))
      return await call(wordSchema, 'eth_call', [{ to, data }, blockTag(atBlock)])
    } catch (cause) {
      if (!(cause instanceof CallReverted)) throw cause
      throw new LedgerUnavailable(`${to} is not a token with signed transfers`, { cause })
    }
  }
  return {
    chainId: async (): Promise<number> => Number(await call(quantitySchema, 'eth_chainId', [])),
    /** The latest block by default. Also throws if the node does not know the block. */
    block: (number?: bigint): Promise<EvmBlock> =>
      call(blockSchema, 'eth_getBlockByNumber', [blockTag(number), false]),
    /** `authorizationState` at a block, by default the latest; also true for a cancelled nonce. */
    async isAuthorizationUsed(key: AuthorizationKey, atBlock?: bigint): Promise<boolean> {
      const { asset, nonce, payer } = key
      const parts = [SELECTORS.authorizationState, addressWord(payer), bytesOfHex(nonce)]
      return BigInt(await view(asset, parts, atBlock)) !== 0n
    },
    /** `AuthorizationUsed` and `AuthorizationCanceled` events of that nonce in a range of blocks, inclusive. */
    async authorizationLogs(
      { asset, nonce, payer }: AuthorizationKey,
      range: { readonly fromBlock: bigint; readonly toBlock: bigint },
    ): Promise<readonly EvmLog[]> {
      const used = [AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC]
      const filter = {
        address: asset,
        topics: [used, addressTopic(payer), nonce],
        fromBlock: blockTag(range.fromBlock),
        toBlock: blockTag(range.toBlock),
      }
      const logs = await call(z.array(logSchema), 'eth_getLogs', [filter])
      return logs.filter(
        (log) => log.removed !== true && log.address === asset && log.topics[2] === nonce,
      )
    },
    /** Undefined if no block contains the transaction. */
    async receipt(transaction: Hex): Promise<EvmReceipt | undefined> {
      const found = await call(receiptSchema.nullable(), 'eth_getTransactionReceipt', [transaction])
      return found ?? undefined
    },
    isValidSignature: (question: ContractSignature): Promise<boolean> =>
      askContract(call, question),
    /** A token's `DOMAIN_SEPARATOR()`. */
    domainSeparator: (asset: Hex): Promise<Hex> => view(asset, [SELECTORS.domainSeparator]),
    /** A token balance in base units. */
    balanceOf: async (asset: string, owner: string): Promise<bigint> =>
      BigInt(await view(asset, [SELECTORS.balanceOf, addressWord(owner)])),
  }
}

/** A signature that a contract may call its own. */
type ContractSignature = {
  readonly wallet: Hex
  /** The token whose transfer is signed. */
  readonly token: string
  readonly digest: Uint8Array
  readonly signature: Uint8Array
}

/**
 * Whether a contract accepts a signature as its own (EIP-1271), asked as its token asks: at the price and with the gas of a
 * transaction, since it could agree only to who pays nothing (X21). False if there is no contract, or it reverts or needs more
 * gas than a transfer may use. The node's `eth_call` must take state overrides, as Geth's and Reth's do: the token, in whose
 * name it is called, has no money for gas.
 */
async function askContract(
  call: ReturnType<typeof createReader>,
  { digest, signature, token: from, wallet }: ContractSignature,
): Promise<boolean> {
  const [code, price] = await Promise.all([
    call(hexSchema, 'eth_getCode', [wallet, 'latest']),
    call(quantitySchema, 'eth_gasPrice', []),
  ])
  if (code === '0x') return false
  const data = hexOfBytes(
    Buffer.concat([SELECTORS.isValidSignature, digest, bytesArgument(signature)]),
  )
  const gas = quantity(TRANSFER_GAS_MAX)
  const asTransaction = { from, to: wallet, data, gas, gasPrice: quantity(price) }
  const funds = { [from]: { balance: quantity(TRANSFER_GAS_MAX * price) } }
  try {
    const found = await call(hexSchema, 'eth_call', [asTransaction, 'latest', funds])
    return found === VALID_SIGNATURE
  } catch (error) {
    if (error instanceof CallReverted) return false
    throw error
  }
}

const quantity = (number: bigint): Hex => `0x${number.toString(16)}`

function blockTag(number: bigint | undefined): string {
  return number === undefined ? 'latest' : quantity(number)
}

/** The ABI encoding of a `bytes` that is the second of two arguments, with its offset. */
function bytesArgument(bytes: Uint8Array): Buffer {
  const padding = Buffer.alloc((32 - (bytes.length % 32)) % 32)
  return Buffer.concat([uintWord(64n), uintWord(BigInt(bytes.length)), bytes, padding])
}

/** Compares an asset's configuration with the chain. `unreachable` proves nothing: the service starts (X11). */
export type DomainCheck =
  | { readonly kind: 'right' }
  | { readonly kind: 'wrong_chain'; readonly chainId: number }
  /** The token signs under a different name, version, chain or address: it would accept none of our payments. */
  | { readonly kind: 'wrong_domain'; readonly found: string; readonly expected: string }
  | { readonly kind: 'unreachable'; readonly cause: unknown }

/** Compares an asset with the token's own `DOMAIN_SEPARATOR` (G9) at start. Never throws because of the chain. */
export async function checkEvmDomain(
  asset: EvmAsset,
  ledger: Pick<EvmLedger, 'chainId' | 'domainSeparator'>,
): Promise<DomainCheck> {
  try {
    const chainId = await ledger.chainId()
    if (chainId !== evmChainId(asset.network)) return { kind: 'wrong_chain', chainId }
    const found = await ledger.domainSeparator(asset.address)
    const expected = hexOfBytes(domainSeparator(signingDomain(asset)))
    return found === expected ? { kind: 'right' } : { kind: 'wrong_domain', found, expected }
  } catch (cause) {
    if (!(cause instanceof LedgerUnavailable)) throw cause
    return { kind: 'unreachable', cause }
  }
}
