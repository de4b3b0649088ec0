// What consensus does with a transfer: it always charges the fee, then moves everything or nothing. A transfer to a
// contract changes the contract's balance and runs none of its code.

import type { Address } from 'viem'
import { completingKey } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { FEE_COLLECTOR } from '../ledger/network.ts'
import { netOf, type TransactionRecord, transfersOf } from '../ledger/records.ts'
import { hasSigned, transferFeeTinybar } from './precheck-transfer.ts'
import { resolveAccount } from './resolve-account.ts'
import type { SignedTransfer, Status } from './signed-transfer.ts'

/** What an address gains or loses, tinybar. */
type Move = readonly [address: Address, tinybar: bigint]

/** Takes a transfer through consensus and returns its record. The caller holds the queue. */
export async function handleTransfer(
  ledger: Ledger,
  { transfer, forced }: { transfer: SignedTransfer; forced: Status | undefined },
): Promise<TransactionRecord> {
  const consensusNs = ledger.clock.nextTimestamp()
  const payer = ledger.accounts.byNumber(transfer.payerNumber)
  if (payer === undefined) throw new Error(`payer ${transfer.payerNumber} passed the precheck`)
  complete(payer, transfer)
  const result = forced ?? (await judge(ledger, transfer, payer))
  const fee = transferFeeTinybar(ledger)
  const [held = fee] = result === 'SUCCESS' ? [] : await ledger.evm.balances([payer.address])
  const charged = held < fee ? held : fee
  const amounts = result === 'SUCCESS' ? applyAmounts(ledger, transfer, consensusNs) : []
  const net = netOf([...feeMoves(payer, charged), ...amounts])
  await ledger.evm.setBalances(await balancesAfter(ledger, net), consensusNs)
  const idOf = (address: Address): string => ledger.accounts.idOf(address) ?? FEE_COLLECTOR.id
  const record: TransactionRecord = {
    consensusNs,
    name: 'CRYPTOTRANSFER',
    id: { account: payer.id, validStartNs: transfer.validStartNs },
    isScheduled: false,
    result,
    chargedFeeTinybar: charged,
    maxFeeTinybar: transfer.maxFeeTinybar,
    memo: Buffer.from(transfer.memo, 'utf8'),
    node: entityId(transfer.nodeNumber ?? 0),
    hash: transfer.hash,
    validDurationSeconds: Number(transfer.validDurationSeconds),
    entityId: null,
    transfers: transfersOf(new Map([...net].map(([address, change]) => [idOf(address), change]))),
  }
  ledger.records.add(record)
  return record
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

async function judge(ledger: Ledger, transfer: SignedTransfer, payer: Entity): Promise<Status> {
  const fee = transferFeeTinybar(ledger)
  const moves = feeMoves(payer, fee)
  for (const { account, amountTinybar, isApproval } of transfer.amounts) {
    const resolved = resolveAccount(ledger.accounts, account)
    if (resolved.kind === 'unknown') return 'INVALID_ACCOUNT_ID'
    if (resolved.kind === 'new-alias') {
      if (amountTinybar < 0n) return 'INVALID_ACCOUNT_ID'
      continue
    }
    if (amountTinybar < 0n && isApproval) return 'SPENDER_DOES_NOT_HAVE_ALLOWANCE'
    if (amountTinybar < 0n && !hasSigned(resolved.entity, transfer)) return 'INVALID_SIGNATURE'
    moves.push([resolved.entity.address, amountTinybar])
  }
  const net = netOf(moves)
  const short = [...(await balancesAfter(ledger, net))].find(([, after]) => after < 0n)
  if (short === undefined) return 'SUCCESS'
  const [address, after] = short
  return address === payer.address && after - (net.get(address) ?? 0n) < fee
    ? 'INSUFFICIENT_PAYER_BALANCE'
    : 'INSUFFICIENT_ACCOUNT_BALANCE'
}

/** Creates the accounts that the transfer funds for the first time, and returns all its moves. */
function applyAmounts(ledger: Ledger, transfer: SignedTransfer, createdNs: bigint): Move[] {
  return transfer.amounts.flatMap(({ account, amountTinybar }): Move[] => {
    const resolved = resolveAccount(ledger.accounts, account)
    if (resolved.kind === 'unknown') return []
    const { address } =
      resolved.kind === 'entity'
        ? resolved.entity
        : ledger.accounts.create({ ...resolved, createdNs })
    if (resolved.kind === 'entity' && amountTinybar < 0n) complete(resolved.entity, transfer)
    return [[address, amountTinybar]]
  })
}

function complete(entity: Entity, transfer: SignedTransfer): void {
  if (entity.key === null && entity.kind === 'account') {
    entity.key = completingKey(entity.address, transfer.signed) ?? null
  }
}
