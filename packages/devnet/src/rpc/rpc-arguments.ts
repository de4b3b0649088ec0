// The arguments that each method takes, and the relay's words for others (src/relay/lib/validators in hiero-json-rpc-relay).

import { refusals } from './rpc-method.ts'

const HASH = 'Expected 0x prefixed string representing the hash (32 bytes)'
const NUMBER =
  'Expected 0x prefixed hexadecimal block number, or the string "latest", "earliest" or "pending"'
const isText = (pattern: RegExp) => (value: unknown) =>
  typeof value === 'string' && pattern.test(value)
const isNumber = isText(/^(?:0x[0-9a-f]{1,13}|earliest|latest|pending|finalized|safe)$/i)
const isHash = isText(/^0x[0-9a-f]{64}$/i)

const FORMS = {
  address: [
    isText(/^0x[0-9a-f]{40}$/i),
    'Expected 0x prefixed string representing the address (20 bytes)',
  ],
  boolean: [(value: unknown) => typeof value === 'boolean', 'Expected boolean type'],
  blockHash: [isHash, `${HASH} of a block`],
  transactionHash: [isHash, `${HASH} of a transaction`],
  hex: [isText(/^0x[0-9a-f]*$/i), 'Expected 0x prefixed hexadecimal value'],
  number: [isNumber, NUMBER],
  /** A block by number, tag, hash or EIP-1898 object, which is read further in. */
  block: [
    (value: unknown) => isNumber(value) || isHash(value) || typeof value === 'object',
    `Expected ${HASH} of a block in object, ${NUMBER.slice('Expected '.length)}`,
  ],
} as const

/** The forms of each method's arguments, in order; `?` may be left out. */
const ARGUMENTS: { readonly [method: string]: string } = {
  eth_feeHistory: 'hex number',
  eth_getBalance: 'address block',
  eth_getBlockByHash: 'blockHash boolean',
  eth_getBlockByNumber: 'number boolean',
  eth_getBlockReceipts: 'block',
  eth_getBlockTransactionCountByHash: 'blockHash',
  eth_getBlockTransactionCountByNumber: 'number',
  eth_getCode: 'address block',
  eth_getFilterChanges: 'hex',
  eth_getFilterLogs: 'hex',
  eth_getStorageAt: 'address hex block',
  eth_getTransactionByBlockHashAndIndex: 'blockHash hex',
  eth_getTransactionByBlockNumberAndIndex: 'number hex',
  eth_getTransactionByHash: 'transactionHash',
  eth_getTransactionCount: 'address block',
  eth_getTransactionReceipt: 'transactionHash',
  eth_getUncleByBlockHashAndIndex: 'blockHash? hex?',
  eth_getUncleByBlockNumberAndIndex: 'number? hex?',
  eth_getUncleCountByBlockHash: 'blockHash?',
  eth_getUncleCountByBlockNumber: 'number?',
  eth_sendRawTransaction: 'hex',
  eth_uninstallFilter: 'hex',
}

/** @throws RpcError for an argument that is missing or has another form */
export function checkArguments(method: string, values: readonly unknown[]): void {
  for (const [index, form] of (ARGUMENTS[method]?.split(' ') ?? []).entries()) {
    const value = values[index]
    if (value === undefined && form.endsWith('?')) continue
    if (value === undefined) throw refusals.missingParameter(index)
    const [isForm, expected] = FORMS[form.replace('?', '') as keyof typeof FORMS]
    if (isForm(value)) continue
    const text = typeof value === 'string' ? value.slice(0, 80) : JSON.stringify(value)
    throw refusals.invalidParameter(index, `${expected}, value: ${text}`)
  }
}
