import { type Address, isAddress } from 'viem'
import { refusals } from './rpc-error.ts'

/** One JSON-RPC method: parameters in, result out; refusals are thrown as RpcError. */
export type RpcMethod = (parameters: readonly unknown[]) => unknown

/** Methods by name. */
export type RpcMethods = { [method: string]: RpcMethod }

/** The address at `index` of the parameters. @throws RpcError */
export function addressParameter(parameters: readonly unknown[], index: number): Address {
  const value = required(parameters, index)
  if (typeof value !== 'string' || !isAddress(value, { strict: false })) {
    throw refusals.invalidParameter(
      index,
      `Expected 0x prefixed string representing the address (20 bytes), value: ${String(value)}`,
    )
  }
  return value
}

/** The 32-byte hash at `index` of the parameters, lower case. @throws RpcError */
export function hashParameter(parameters: readonly unknown[], index: number): string {
  const value = required(parameters, index)
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(value)) {
    throw refusals.invalidParameter(
      index,
      `Expected 0x prefixed string representing the hash (32 bytes), value: ${String(value)}`,
    )
  }
  return value.toLowerCase()
}

/** The storage slot at `index` of the parameters: 1 to 32 bytes of hex. @throws RpcError */
export function slotParameter(parameters: readonly unknown[], index: number): string {
  const value = required(parameters, index)
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) {
    throw refusals.invalidParameter(
      index,
      `Expected 0x prefixed hexadecimal value, value: ${String(value)}`,
    )
  }
  return value
}

/** The parameter at `index`. @throws RpcError when it is missing */
export function required(parameters: readonly unknown[], index: number): unknown {
  const value = parameters[index]
  if (value === undefined || value === null) throw refusals.missingParameter(index)
  return value
}
