// What consensus does with a native transaction: it always charges the fee, then does all of it or nothing.

import type { Address } from 'viem'
import type { Entity } from '../ledger/account-registry.ts'
import { entityId } from '../ledger/entity-id.ts'
import { takeEthereumTransaction } from '../ledger/ethereum-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { FEE_COLLECTOR } from '../ledger/network.ts'
import { parseRawTransaction } from '../ledger/parse-raw-transaction.ts'
import { netOf, type Submission, type TransactionRecord, transfersOf } from '../ledger/records.ts'
import { completeAccount, planTransfer } from './plan-transfer.ts'
import { feeTinybar } from './precheck-transaction.ts'
import type { SignedTransaction, Status } from './signed-transaction.ts'

/** What an address gains or loses, tinybar. */
export type Move = readonly [address: Address, tinybar: bigint]

/** What a transaction does once consensus has accepted it. */
export type Plan = {
  /** What existing accounts lose and gain. */
  moves: Move[]
  /** Makes what else changes; returns what moves to new accounts, and the entity that the transaction is about. */
  apply: (consensusNs: bigint) => { moves: Move[]; entityId?: string | null }
}

/** Takes a transaction through consensus and returns its record. The caller holds the queue. */
export async function handleTransaction(
  ledger: Ledger,
  { transaction, forced }: { transaction: SignedTransaction; forced: Status | undefined },
): Promise<TransactionRecord> {
  const { content } = transaction
  if (content.kind === 'ethereum' && forced === undefined) {
    return handleEthereum(ledger, transaction, content.raw)
  }
  const consensusNs = ledger.clock.nextTimestamp()
  const payer = ledger.accounts.byNumber(transaction.payerNumber)
  if (payer === undefined) throw new Error(`payer ${transaction.payerNumber} passed the precheck`)
  completeAccount(payer, transaction.signed)
  const plan = forced ?? (await planned(ledger, { transaction, payer }))
  const fee = feeTinybar(ledger)
  const [balance = fee] = typeof plan === 'string' ? await ledger.evm.balances([payer.address]) : []
  const charged = balance < fee ? balance : fee
  const done = typeof plan === 'string' ? { moves: [] } : plan.apply(consensusNs)
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
    name: NAMES[content.kind],
    isScheduled: false,
    result: typeof plan === 'string' ? plan : 'SUCCESS',
    chargedFeeTinybar: charged,
    entityId: done.entityId ?? null,
    transfers: transfersOf(new Map([...net].map(([address, change]) => [idOf(address), change]))),
  }
  ledger.records.add(record)
  return record
}

const NAMES = { transfer: 'CRYPTOTRANSFER', ethereum: 'ETHEREUMTRANSACTION' } as const

/** A relay's account submits it, and its Ethereum sender pays. */
async function handleEthereum(
  ledger: Ledger,
  transaction: SignedTransaction,
  raw: `0x${string}`,
): Promise<TransactionRecord> {
  const submission = submissionOf(transaction)
  const verdict = await takeEthereumTransaction(ledger, parseRawTransaction(raw), submission)
  if (verdict.kind === 'refused') {
    return handleTransaction(ledger, { transaction, forced: verdict.status })
  }
  const { consensusNs } = verdict.transaction
  const [record] = ledger.records.between({ from: consensusNs, to: consensusNs })
  if (record === undefined) throw new Error(`no record of ${verdict.transaction.hash}`)
  return record
}

function submissionOf(transaction: SignedTransaction): Submission {
  return {
    id: { account: entityId(transaction.payerNumber), validStartNs: transaction.validStartNs },
    maxFeeTinybar: transaction.maxFeeTinybar,
    memo: Buffer.from(transaction.memo, 'utf8'),
    node: entityId(transaction.nodeNumber ?? 0),
    hash: transaction.hash,
    validDurationSeconds: Number(transaction.validDurationSeconds),
  }
}

async function planned(
  ledger: Ledger,
  { transaction, payer }: { transaction: SignedTransaction; payer: Entity },
): Promise<Status | Plan> {
  const { content } = transaction
  if (content.kind === 'ethereum') throw new Error('an Ethereum transaction has no plan')
  const plan = planTransfer(ledger, content, transaction.signed)
  if (typeof plan === 'string') return plan
  const fee = feeTinybar(ledger)
  const net = netOf([...feeMoves(payer, fee), ...plan.moves])
  const short = [...(await balancesAfter(ledger, net))].find(([, after]) => after < 0n)
  if (short === undefined) return plan
  const [address, after] = short
  return address === payer.address && after - (net.get(address) ?? 0n) < fee
    ? 'INSUFFICIENT_PAYER_BALANCE'
    : 'INSUFFICIENT_ACCOUNT_BALANCE'
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
