import type { Hex } from 'viem'

// Refusals with the relay's codes and words (packages/relay/src/lib/errors in hiero-json-rpc-relay), so that a client
// that handles them here can handle the public relay.

/** An error that a JSON-RPC caller sees. */
export class RpcError extends Error {
  override name = 'RpcError'
  readonly code: number
  readonly data: string | undefined
  /** What relays before 0.79 gave in place of `code`. */
  readonly oldCode: number
  constructor(code: number, message: string, more: { data?: string; oldCode?: number } = {}) {
    super(message)
    this.code = code
    this.data = more.data
    this.oldCode = more.oldCode ?? code
  }
}

/** The HTTP status with which the relay sends a single call's refusal (koaJsonRpc/lib/httpErrorMapper.ts). */
export function toHttpStatus(code: number): number {
  if (code === 3) return 200
  if (code === -32603) return 500
  return code === -32605 ? 429 : 400
}

const refusal = (
  code: number,
  message: string,
  more?: { data?: string; oldCode?: number },
): RpcError => new RpcError(code, message, more)

export const refusals = {
  parseError: () => refusal(-32700, 'Unable to parse JSON'),
  invalidRequest: () => refusal(-32600, 'Invalid request'),
  methodNotFound: (method: string) => refusal(-32601, `Method ${method} not found`),
  unsupportedMethod: () => refusal(-32601, 'Unsupported JSON-RPC method'),
  notYetImplemented: () => refusal(-32601, 'Not yet implemented'),
  missingParameter: (index: number) =>
    refusal(-32602, `Missing value for required parameter ${index}`),
  invalidParameter: (index: number | string, message: string) =>
    refusal(-32602, `Invalid parameter ${index}: ${message}`),
  invalidArguments: (message: string) => refusal(-32000, `Invalid arguments: ${message}`),
  internalError: () => refusal(-32603, 'Unknown error invoking RPC'),
  rateLimited: (method: string) => refusal(-32605, `IP Rate limit exceeded on ${method}`),
  batchTooLarge: (amount: number, max: number) =>
    refusal(-32203, `Batch request amount ${amount} exceeds max ${max}`),
  unsupportedTransactionType: (type: number) =>
    refusal(-32611, `Unsupported transaction type: txType=${type}`),
  gasLimitTooHigh: (gas: bigint, max: number) =>
    refusal(-32005, `Transaction gas limit '${gas}' exceeds max gas per sec limit '${max}'`),
  gasLimitTooLow: (gas: bigint, needed: number) =>
    refusal(
      -32003,
      `Transaction gas limit provided '${gas}' is insufficient of intrinsic gas required '${needed}'`,
    ),
  gasPriceTooLow: (offered: bigint, needed: bigint) =>
    refusal(-32009, `Gas price '${offered}' is below configured minimum gas price '${needed}'`),
  wrongChain: (requested: string, current: string) =>
    refusal(-32000, `ChainId (${requested}) not supported. The correct chainId is ${current}`),
  valueTooLow: () =>
    refusal(-32602, "Value can't be non-zero and less than 10_000_000_000 wei which is 1 tinybar"),
  nonceTooLow: ({ provided, current }: { provided: number; current: number }) =>
    refusal(-32000, `Nonce too low. Provided nonce: ${provided}, current nonce: ${current}`, {
      oldCode: 32001,
    }),
  nonceTooHigh: ({ provided, current }: { provided: number; current: number }) =>
    refusal(-32000, `Nonce too high. Provided nonce: ${provided}, current nonce: ${current}`, {
      oldCode: 32002,
    }),
  insufficientBalance: () => refusal(-32000, 'Insufficient funds for transfer'),
  receiverSigns: () =>
    refusal(-32000, "Operation is not supported when receiver's signature is enabled."),
  resourceNotFound: (what: string) => refusal(-32001, `Requested resource not found. ${what}`),
  rejected: (status: string) => refusal(-32003, `Transaction rejected: ${status}`),
  oversized: ({ what, actual, max }: { what: string; actual: number; max: number }) =>
    refusal(-32201, `Oversized data: ${what} size ${actual}, ${what} limit ${max}`),
  rangeTooLarge: (max: number) => refusal(-32000, `Exceeded maximum block range: ${max}`),
  missingFromBlock: () =>
    refusal(-32011, 'Provided toBlock parameter without specifying fromBlock'),
  invalidBlockRange: () => refusal(-39013, 'Invalid block range'),
  unknownBlock: () => refusal(-39012, 'Unknown block'),
  tooManySubscriptions: () => refusal(-32608, 'Exceeded maximum allowed subscriptions'),
  filterNotFound: () => refusal(-32001, 'Filter not found'),
  reverted: (reason: string | undefined, data: string) =>
    refusal(3, `execution reverted: ${reason ?? 'CONTRACT_REVERT_EXECUTED'}`, { data }),
}

/** One JSON-RPC method: parameters in, result out; refusals are thrown as RpcError. */
type RpcMethod = (parameters: readonly unknown[]) => unknown

export type RpcMethods = { [method: string]: RpcMethod }

/** The parameter at `index`. @throws RpcError if it is missing */
export function required(parameters: readonly unknown[], index: number): unknown {
  const value = parameters[index]
  if (value === undefined || value === null) throw refusals.missingParameter(index)
  return value
}

/** Reads the text at an index of the parameters. @throws RpcError, which says what is `expected`, for another form */
function textParameter(pattern: RegExp, expected: string) {
  return (parameters: readonly unknown[], index: number): Hex => {
    const value = required(parameters, index)
    if (typeof value === 'string' && pattern.test(value)) return value as Hex
    const message = `Expected 0x prefixed ${expected}, value: ${String(value)}`
    throw refusals.invalidParameter(index, message)
  }
}

export const addressParameter = textParameter(
  /^0x[0-9a-fA-F]{40}$/,
  'string representing the address (20 bytes)',
)

export const hashParameter = textParameter(
  /^0x[0-9a-fA-F]{64}$/,
  'string representing the hash (32 bytes)',
)

/** A storage slot: 1 to 32 bytes of hex. */
export const slotParameter = textParameter(/^0x[0-9a-fA-F]{1,64}$/, 'hexadecimal value')
