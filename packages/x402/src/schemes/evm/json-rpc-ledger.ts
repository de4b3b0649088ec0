/**
 * The EVM ledger port over JSON-RPC. Every answer is bounded in time and size and parsed; a node that fails in any way
 * throws LedgerUnavailable. No key is held and nothing is sent to the chain from here.
 */
import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import { fetchJson } from '../../http-json.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import {
  blockSchema,
  type EvmLedger,
  logSchema,
  quantitySchema,
  receiptSchema,
} from './evm-ledger.ts'
import {
  addressWord,
  type Hex,
  hexOfBytes,
  hexSchema,
  keccakOfText,
  uintWord,
  wordSchema as word,
} from './evm-words.ts'
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
} from './find-evm-payment.ts'

export type JsonRpcLedgerOptions = {
  /** JSON-RPC address. */
  readonly url: string
  readonly clock: Clock
}

/** A public node answers in 0.1 to 1 s. */
const TIMEOUT_MS = 5_000

/** A receipt of a batch with hundreds of logs is some 100 kB. */
const ANSWER_BYTES_MAX = 1_048_576

/** What EIP-1271 answers for a good signature: the selector of its own function, padded. */
const VALID_SIGNATURE = '0x1626ba7e'.padEnd(66, '0')

/** The four bytes that select a function. */
const selectorOf = (signature: string): Hex => hexOfBytes(keccakOfText(signature).subarray(0, 4))

const SELECTORS = {
  authorizationState: selectorOf('authorizationState(address,bytes32)'),
  balanceOf: selectorOf('balanceOf(address)'),
  domainSeparator: selectorOf('DOMAIN_SEPARATOR()'),
  isValidSignature: selectorOf('isValidSignature(bytes32,bytes)'),
}

const answer = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
})

/** A call that the contract reverted; everything else that a node answers as an error is the node's own failure. */
class CallReverted extends LedgerUnavailable {}

type Call = <Schema extends z.ZodType>(
  schema: Schema,
  method: string,
  parameters: readonly unknown[],
) => Promise<z.output<Schema>>

/** The chain behind a JSON-RPC address. Every method throws LedgerUnavailable where the node does not answer well. */
export function createJsonRpcLedger(options: JsonRpcLedgerOptions): EvmLedger {
  const call = createCaller(options)
  /** A view function's one word at a block. */
  const view = async (to: Hex, data: string, atBlock?: bigint): Promise<Hex> => {
    try {
      return await call(word, 'eth_call', [{ to, data }, blockTag(atBlock)])
    } catch (cause) {
      if (!(cause instanceof CallReverted)) throw cause
      throw new LedgerUnavailable(`${to} is no token with signed transfers`, { cause })
    }
  }
  return {
    chainId: async () => Number(await call(quantitySchema, 'eth_chainId', [])),
    latestBlock: () => call(blockSchema, 'eth_getBlockByNumber', ['latest', false]),
    block: (number) => call(blockSchema, 'eth_getBlockByNumber', [blockTag(number), false]),
    async isAuthorizationUsed({ asset, nonce, payer }, atBlock) {
      const data = `${SELECTORS.authorizationState}${hexOf(addressWord(payer))}${nonce.slice(2)}`
      return BigInt(await view(asset, data, atBlock)) !== 0n
    },
    async authorizationLogs({ asset, nonce, payer }, { fromBlock, toBlock }) {
      const topics = [
        [AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC],
        addressTopic(payer),
        nonce,
      ]
      const range = { fromBlock: blockTag(fromBlock), toBlock: blockTag(toBlock) }
      const logs = await call(z.array(logSchema), 'eth_getLogs', [
        { address: asset, topics, ...range },
      ])
      return logs.filter(
        (one) => one.removed !== true && one.address === asset && one.topics[2] === nonce,
      )
    },
    receipt: async (transaction) =>
      (await call(receiptSchema.nullable(), 'eth_getTransactionReceipt', [transaction])) ??
      undefined,
    hasCode: async (address) =>
      (await call(hexSchema, 'eth_getCode', [address, 'latest'])).length > 2,
    async isValidSignature({ digest, signature, wallet }) {
      const data = `${SELECTORS.isValidSignature}${hexOf(digest)}${hexOf(bytesArgument(signature))}`
      try {
        const found = await call(hexSchema, 'eth_call', [{ to: wallet, data }, 'latest'])
        return found === VALID_SIGNATURE
      } catch (error) {
        if (error instanceof CallReverted) return false
        throw error
      }
    },
    domainSeparator: (asset) => view(asset, SELECTORS.domainSeparator),
    balanceOf: async (asset, owner) =>
      BigInt(await view(asset, `${SELECTORS.balanceOf}${hexOf(addressWord(owner))}`)),
  }
}

function createCaller(options: JsonRpcLedgerOptions): Call {
  const { clock, url } = options
  return async (schema, method, parameters) => {
    const answered = await fetchJson({
      url,
      clock,
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: parameters }),
    })
    if (answered.kind !== 'answered') {
      throw new LedgerUnavailable(`the node did not answer ${method}`, { cause: answered.cause })
    }
    const { data, error: cause } = answer.safeParse(answered.json)
    if (data === undefined) {
      throw new LedgerUnavailable(`the node answered ${answered.status} to ${method}`, { cause })
    }
    if (data.error !== undefined) {
      if (isRevert(data.error)) throw new CallReverted(data.error.message)
      throw new LedgerUnavailable(`the node refused ${method}`, { cause: data.error })
    }
    const parsed = schema.safeParse(data.result)
    if (!parsed.success) {
      throw new LedgerUnavailable(`the node's answer to ${method} cannot be read`, {
        cause: parsed.error,
      })
    }
    return parsed.data
  }
}

/** Code 3 is Geth's; others say it in words. */
function isRevert({ code, message }: { code: number; message: string }): boolean {
  return code === 3 || /revert|invalid opcode|stack underflow|out of gas/i.test(message)
}

function blockTag(number: bigint | undefined): string {
  return number === undefined ? 'latest' : `0x${number.toString(16)}`
}

/** The ABI form of a `bytes` that is the second of two arguments, with its offset. */
function bytesArgument(bytes: Uint8Array): Buffer {
  const padding = Buffer.alloc((32 - (bytes.length % 32)) % 32)
  return Buffer.concat([uintWord(64n), uintWord(BigInt(bytes.length)), bytes, padding])
}

function hexOf(bytes: Uint8Array): string {
  return hexOfBytes(bytes).slice(2)
}
