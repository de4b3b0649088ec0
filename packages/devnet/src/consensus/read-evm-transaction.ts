// What runs in the EVM, as an Ethereum transaction: one that is, and a ContractCall or ContractCreate as the one that would do
// the same, so that all three have one verdict.

import type { proto } from '@hiero-ledger/proto'
import { type Address, bytesToHex, type Hex } from 'viem'
import { longZeroAddress } from '../ledger/entity-id.ts'
import { unsignedEnvelope } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type ParsedTransaction, parseRawTransaction } from '../ledger/parse-raw-transaction.ts'
import {
  type Content,
  type SignedTransaction,
  type Status,
  toBigInt,
} from '../ledger/signed-transaction.ts'
import { completeAccount } from './plan-transfer.ts'
import { isMemoTooLong } from './precheck-transaction.ts'

const EVM_KINDS = ['ethereumTransaction', 'contractCall', 'contractCreateInstance'] as const

export type EvmContent = Extract<Content, { kind: (typeof EVM_KINDS)[number] }>

export function runsCode(content: Content): content is EvmContent {
  return EVM_KINDS.some((kind) => kind === content.kind)
}

/** The transaction as the EVM takes it, or why consensus refuses it. */
export async function readEvmTransaction(
  ledger: Ledger,
  transaction: SignedTransaction,
  content: EvmContent,
): Promise<Status | ParsedTransaction> {
  if (content.kind === 'ethereumTransaction') return parseRawTransaction(content.raw)
  const { message } = content
  const isCall = content.kind === 'contractCall'
  const tinybar = toBigInt(isCall ? content.message.amount : content.message.initialBalance)
  const gas = toBigInt(message.gas)
  if (gas < 0n) return 'CONTRACT_NEGATIVE_GAS'
  if (tinybar < 0n) return 'CONTRACT_NEGATIVE_VALUE'
  const to = isCall ? await findContract(ledger, content.message.contractID) : null
  const data = isCall
    ? bytesToHex(content.message.functionParameters ?? new Uint8Array())
    : readCode(ledger, content.message)
  if (to === undefined) return 'INVALID_CONTRACT_ID'
  if (!isHex(data)) return data
  const payer = ledger.accounts.byNumber(transaction.payerNumber)
  if (payer === undefined) throw new Error(`payer ${transaction.payerNumber} passed the precheck`)
  completeAccount(payer, transaction.signed)
  const latest = [payer.address, 'latest']
  const nonce = Number(await ledger.anvil.call('eth_getTransactionCount', latest))
  return {
    // The mirror node shows the first 32 bytes of the transaction's own hash.
    hash: bytesToHex(transaction.hash.subarray(0, 32)),
    from: payer.address,
    bytes: 0,
    envelope: unsignedEnvelope(ledger, { to, data, gas, nonce, valueTinybar: tinybar }),
  }
}

const isHex = (text: Status | Hex): text is Hex => text.startsWith('0x')

/** The address of the contract that an id names, undefined where there is no code. */
export async function findContract(
  ledger: Ledger,
  contractID: proto.IContractID | null | undefined,
): Promise<Address | undefined> {
  const { contractNum, evmAddress } = contractID ?? {}
  const isNumbered = evmAddress?.length !== 20
  const address = isNumbered
    ? longZeroAddress(Number(toBigInt(contractNum)))
    : bytesToHex(evmAddress)
  const found = ledger.accounts.canonicalAddress(address)
  const code = await ledger.anvil.call('eth_getCode', [found, 'latest'])
  return code === '0x' ? undefined : found
}

/** The code that a creation runs, from the message or, written in hex, from a file. */
function readCode(ledger: Ledger, message: proto.IContractCreateTransactionBody): Status | Hex {
  if (isMemoTooLong(message.memo ?? '')) return 'MEMO_TOO_LONG'
  const parameters = Buffer.from(message.constructorParameters ?? []).toString('hex')
  if (message.fileID == null) {
    return `0x${Buffer.from(message.initcode ?? []).toString('hex')}${parameters}`
  }
  const file = ledger.files.byNumber.get(Number(toBigInt(message.fileID.fileNum)))
  if (file === undefined) return 'INVALID_FILE_ID'
  if (file.contents === undefined) return 'FILE_DELETED'
  const text = file.contents.toString('latin1').replace(/^0x/, '')
  if (text === '') return 'CONTRACT_FILE_EMPTY'
  return /^(?:[0-9a-f]{2})+$/i.test(text) ? `0x${text}${parameters}` : 'ERROR_DECODING_BYTESTRING'
}
