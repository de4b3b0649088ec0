// What consensus does with a native transaction: it always charges the fee, then does all of it or nothing.

import { type Address, numberToHex } from 'viem'
import type { Entity } from '../ledger/account-registry.ts'
import { entityId } from '../ledger/entity-id.ts'
import { takeEthereumTransaction } from '../ledger/ethereum-transaction.ts'
import type { EvmTransaction } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { FEE_COLLECTOR } from '../ledger/network.ts'
import { netOf, type Submission, type TransactionRecord, transfersOf } from '../ledger/records.ts'
import { planAccountCreate, planAccountDelete, planAccountUpdate } from './plan-account.ts'
import { planFileChange, planFileCreate } from './plan-file.ts'
import { planTokenAssociate, planTokenCreate } from './plan-token.ts'
import { completeAccount, planTransfer } from './plan-transfer.ts'
import { feeTinybar } from './precheck-transaction.ts'
import { type EvmContent, readEvmTransaction, runsCode } from './read-evm-transaction.ts'
import type { Content, SignedTransaction, Status } from './signed-transaction.ts'

/** What an address gains or loses, tinybar. */
export type Move = readonly [address: Address, tinybar: bigint]

/** What a transaction does once consensus has accepted it. */
export type Plan = {
  /** What existing accounts lose and gain. */
  moves: Move[]
  /** Makes what else changes; returns what moves to new accounts, and what its record tells. */
  apply: (
    consensusNs: bigint,
  ) => { moves: Move[]; entityId?: string } & Pick<TransactionRecord, 'created' | 'tokenTransfers'>
}

/** What is planned, and for whom. */
export type PlanRequest = { transaction: SignedTransaction; payer: Entity }

/** Takes a transaction through consensus and returns its record. The caller holds the queue. */
export async function handleTransaction(
  ledger: Ledger,
  { transaction, forced }: { transaction: SignedTransaction; forced: Status | undefined },
): Promise<TransactionRecord> {
  const { content } = transaction
  if (runsCode(content) && forced === undefined) return handleEvm(ledger, transaction, content)
  const consensusNs = ledger.clock.nextTimestamp()
  const payer = ledger.accounts.byNumber(transaction.payerNumber)
  if (payer === undefined) throw new Error(`payer ${transaction.payerNumber} passed the precheck`)
  completeAccount(payer, transaction.signed)
  const plan = forced ?? (await planned(ledger, { transaction, payer }))
  const fee = feeTinybar(ledger, content)
  const [balance = fee] = typeof plan === 'string' ? await ledger.evm.balances([payer.address]) : []
  const charged = balance < fee ? balance : fee
  const done: ReturnType<Plan['apply']> =
    typeof plan === 'string' ? { moves: [] } : plan.apply(consensusNs)
  const [createdNumber] = Object.values(done.created ?? {})
  const net = netOf([
    ...feeMoves(payer, charged),
    ...(typeof plan === 'string' ? [] : plan.moves),
    ...done.moves,
  ])
  await ledger.evm.setBalances(await balancesAfter(ledger, net), consensusNs)
  const idOf = (address: Address): string => ledger.accounts.idOf(address) ?? FEE_COLLECTOR.id
  const record: TransactionRecord = {
    ...submissionOf(transaction),
    consensusNs,
    isScheduled: false,
    result: typeof plan === 'string' ? plan : 'SUCCESS',
    chargedFeeTinybar: charged,
    entityId: createdNumber === undefined ? (done.entityId ?? null) : entityId(createdNumber),
    created: done.created,
    tokenTransfers: done.tokenTransfers,
    transfers: transfersOf(new Map([...net].map(([address, change]) => [idOf(address), change]))),
  }
  ledger.records.add(record)
  return record
}

const NAMES = {
  transfer: 'CRYPTOTRANSFER',
  ethereum: 'ETHEREUMTRANSACTION',
  'contract-call': 'CONTRACTCALL',
  'contract-create': 'CONTRACTCREATEINSTANCE',
  'file-create': 'FILECREATE',
  'file-append': 'FILEAPPEND',
  'file-delete': 'FILEDELETE',
  'account-create': 'CRYPTOCREATEACCOUNT',
  'account-delete': 'CRYPTODELETE',
  'account-update': 'CRYPTOUPDATEACCOUNT',
  'token-create': 'TOKENCREATION',
  'token-associate': 'TOKENASSOCIATE',
} as const

/** An Ethereum transaction's sender pays, whoever submits it; a contract transaction's payer is its sender. */
async function handleEvm(
  ledger: Ledger,
  transaction: SignedTransaction,
  content: EvmContent,
): Promise<TransactionRecord> {
  const submission = submissionOf(transaction)
  const parsed = await readEvmTransaction(ledger, transaction, content)
  if (typeof parsed === 'string') return handleTransaction(ledger, { transaction, forced: parsed })
  const verdict = await takeEthereumTransaction(ledger, parsed, submission)
  if (verdict.kind === 'refused') {
    const refused = await handleTransaction(ledger, { transaction, forced: verdict.status })
    ledger.transactions.refuse({ ...parsed, ...refused, hash: parsed.hash })
    return refused
  }
  await settleContract(ledger, content, verdict.transaction)
  const { consensusNs } = verdict.transaction
  const [record] = ledger.records.between({ from: consensusNs, to: consensusNs })
  if (record === undefined) throw new Error(`no record of ${verdict.transaction.hash}`)
  return record
}

/** What a contract transaction changes beyond the EVM: its sender's nonce stays, and its contract has a memo. */
async function settleContract(
  ledger: Ledger,
  content: EvmContent,
  { envelope, from, receipt }: EvmTransaction,
): Promise<void> {
  if (content.kind === 'contract-call') {
    await ledger.anvil.call('anvil_setNonce', [from, numberToHex(envelope.nonce)])
  }
  const created = ledger.accounts.byAddress(receipt.contractAddress ?? '')
  if (content.kind === 'contract-create' && created !== undefined) {
    created.memo = content.message.memo ?? ''
  }
}

function submissionOf(transaction: SignedTransaction): Submission {
  return {
    name: NAMES[transaction.content.kind],
    id: { account: entityId(transaction.payerNumber), validStartNs: transaction.validStartNs },
    maxFeeTinybar: transaction.maxFeeTinybar,
    memo: Buffer.from(transaction.memo, 'utf8'),
    node: entityId(transaction.nodeNumber ?? 0),
    hash: transaction.hash,
    validDurationSeconds: Number(transaction.validDurationSeconds),
  }
}

async function planned(ledger: Ledger, request: PlanRequest): Promise<Status | Plan> {
  const { payer, transaction } = request
  const { content } = transaction
  if (runsCode(content)) throw new Error(`${content.kind} has no plan`)
  const plan = await planContent(ledger, content, request)
  if (typeof plan === 'string') return plan
  const fee = feeTinybar(ledger, content)
  const net = netOf([...feeMoves(payer, fee), ...plan.moves])
  const short = [...(await balancesAfter(ledger, net))].find(([, after]) => after < 0n)
  if (short === undefined) return plan
  const [address, after] = short
  const isUnableToPay = after - (net.get(address) ?? 0n) < fee || content.kind !== 'transfer'
  return address === payer.address && isUnableToPay
    ? 'INSUFFICIENT_PAYER_BALANCE'
    : 'INSUFFICIENT_ACCOUNT_BALANCE'
}

function planContent(
  ledger: Ledger,
  content: Exclude<Content, EvmContent>,
  request: PlanRequest,
): Promise<Status | Plan> | Status | Plan {
  const { kind } = content
  if (kind === 'account-create') return planAccountCreate(ledger, content.message, request)
  if (kind === 'account-delete') return planAccountDelete(ledger, content.message, request)
  if (kind === 'account-update') return planAccountUpdate(ledger, content.message, request)
  if (kind === 'file-create') return planFileCreate(ledger, content.message, request)
  if (kind === 'file-append' || kind === 'file-delete') {
    return planFileChange(ledger, content.message, request)
  }
  if (kind === 'token-create') return planTokenCreate(ledger, content.message, request)
  if (kind === 'token-associate') return planTokenAssociate(ledger, content.message, request)
  return planTransfer(ledger, content, request)
}

function feeMoves(payer: Entity, tinybar: bigint): Move[] {
  return [
    [payer.address, -tinybar],
    [FEE_COLLECTOR.address, tinybar],
  ]
}

async function balancesAfter(
  ledger: Ledger,
  net: ReadonlyMap<Address, bigint>,
): Promise<Map<Address, bigint>> {
  const balances = await ledger.evm.balances([...net.keys()])
  return new Map([...net].map(([address, change], at) => [address, (balances[at] ?? 0n) + change]))
}
