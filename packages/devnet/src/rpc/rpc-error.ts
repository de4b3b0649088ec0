// The relay's refusals with its own codes and words (packages/relay/src/lib/errors in hiero-json-rpc-relay), so that
// what a client learns to handle here is what it meets on the public relay.

/** An error that a JSON-RPC caller is to see. */
export class RpcError extends Error {
  override name = 'RpcError'
  readonly code: number
  readonly data: string | undefined
  constructor(error: { code: number; message: string; data?: string }) {
    super(error.message)
    this.code = error.code
    this.data = error.data
  }
}

/** Refusals by the relay's names. */
export const refusals = {
  parseError: () => new RpcError({ code: -32700, message: 'Unable to parse JSON' }),
  invalidRequest: () => new RpcError({ code: -32600, message: 'Invalid request' }),
  methodNotFound: (method: string) =>
    new RpcError({ code: -32601, message: `Method ${method} not found` }),
  unsupportedMethod: () => new RpcError({ code: -32601, message: 'Unsupported JSON-RPC method' }),
  notYetImplemented: () => new RpcError({ code: -32601, message: 'Not yet implemented' }),
  missingParameter: (index: number) =>
    new RpcError({ code: -32602, message: `Missing value for required parameter ${index}` }),
  invalidParameter: (index: number | string, message: string) =>
    new RpcError({ code: -32602, message: `Invalid parameter ${index}: ${message}` }),
  invalidArguments: (message: string) =>
    new RpcError({ code: -32000, message: `Invalid arguments: ${message}` }),
  internalError: () => new RpcError({ code: -32603, message: 'Unknown error invoking RPC' }),
  batchTooLarge: (amount: number, max: number) =>
    new RpcError({ code: -32203, message: `Batch request amount ${amount} exceeds max ${max}` }),
  unsupportedTransactionType: () =>
    new RpcError({ code: -32611, message: 'Unsupported transaction type' }),
  gasLimitTooHigh: (gas: bigint, max: number) =>
    new RpcError({
      code: -32005,
      message: `Transaction gas limit '${gas}' exceeds max gas per sec limit '${max}'`,
    }),
  gasLimitTooLow: (gas: bigint, needed: number) =>
    new RpcError({
      code: -32003,
      message: `Transaction gas limit provided '${gas}' is insufficient of intrinsic gas required '${needed}'`,
    }),
  gasPriceTooLow: (offered: bigint, needed: bigint) =>
    new RpcError({
      code: -32009,
      message: `Gas price '${offered}' is below configured minimum gas price '${needed}'`,
    }),
  wrongChain: (requested: string, current: string) =>
    new RpcError({
      code: -32000,
      message: `ChainId (${requested}) not supported. The correct chainId is ${current}`,
    }),
  valueTooLow: () =>
    new RpcError({
      code: -32602,
      message: "Value can't be non-zero and less than 10_000_000_000 wei which is 1 tinybar",
    }),
  // The two nonce codes are positive in the relay as well.
  nonceTooLow: (nonces: { provided: number; current: number }) =>
    new RpcError({
      code: 32001,
      message: `Nonce too low. Provided nonce: ${nonces.provided}, current nonce: ${nonces.current}`,
    }),
  nonceTooHigh: (nonces: { provided: number; current: number }) =>
    new RpcError({
      code: 32002,
      message: `Nonce too high. Provided nonce: ${nonces.provided}, current nonce: ${nonces.current}`,
    }),
  insufficientBalance: () =>
    new RpcError({ code: -32000, message: 'Insufficient funds for transfer' }),
  resourceNotFound: (what: string) =>
    new RpcError({ code: -32001, message: `Requested resource not found. ${what}` }),
  rejected: (status: string) =>
    new RpcError({ code: -32003, message: `Transaction rejected: ${status}` }),
  oversized: (sizes: { what: string; actual: number; max: number }) =>
    new RpcError({
      code: -32201,
      message: `Oversized data: ${sizes.what} size ${sizes.actual}, ${sizes.what} limit ${sizes.max}`,
    }),
  rangeTooLarge: (max: number) =>
    new RpcError({ code: -32000, message: `Exceeded maximum block range: ${max}` }),
  missingFromBlock: () =>
    new RpcError({
      code: -32011,
      message: 'Provided toBlock parameter without specifying fromBlock',
    }),
  invalidBlockRange: () => new RpcError({ code: -39013, message: 'Invalid block range' }),
  unknownBlock: () => new RpcError({ code: -39012, message: 'Unknown block' }),
  filterNotFound: () => new RpcError({ code: -32001, message: 'Filter not found' }),
  reverted: (reason: string | undefined, data: string) =>
    new RpcError({
      code: 3,
      message: reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`,
      data,
    }),
}
