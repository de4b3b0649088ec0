// What consensus does with a transfer: the fee is charged whatever comes of it, then everything moves or nothing does.
// A transfer to a contract changes its balance and runs none of its code.

import type { Address } from 'viem'
import { completingKey } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { FEE_COLLECTOR } from '../ledger/network.ts'
import type { TransactionRecord, Transfer } from '../ledger/records.ts'
import { hasSigned, transferFeeTinybar } from './precheck-transfer.ts'
import { resolveAccount } from './resolve-account.ts'
import type { SignedTransfer, Status } from './signed-transfer.ts'

/** Takes a transfer through consensus and returns its record. The caller holds the queue. */
export async function handleTransfer(
  ledger: Ledger,
  handled: { transfer: SignedTransfer; forced: Status | undefined },
): Promise<TransactionRecord> {
  const { transfer } = handled
  const consensusNs = ledger.clock.nextTimestamp()
  const feeTinybar = transferFeeTinybar(ledger)
  const payer = ledger.accounts.byNumber(transfer.payerNumber)
  if (payer === undefined) throw new Error(`payer ${transfer.payerNumber} passed the precheck`)
  complete(payer, transfer)
  const moves = new Moves()
  moves.add(payer.address, -feeTinybar)
  moves.add(FEE_COLLECTOR.address, feeTinybar)
  const status = await judge(ledger, { ...handled, moves: moves.copy() })
  const charged = await chargeable(ledger, payer, feeTinybar)
  if (status === 'SUCCESS') applyAmounts(ledger, { transfer, consensusNs, moves })
  else moves.reset([payer.address, -charged], [FEE_COLLECTOR.address, charged])
  await settle(ledger, moves, consensusNs)
  const record: TransactionRecord = {
    consensusNs,
    recordedAtMs: ledger.clock.unixMs(),
    name: 'CRYPTOTRANSFER',
    id: {
      account: payer.id,
      validStartNs: transfer.validStartNs,
      scheduled: transfer.isScheduled,
      nonce: transfer.nonce,
    },
    result: status,
    chargedFeeTinybar: status === 'SUCCESS' ? feeTinybar : charged,
    maxFeeTinybar: transfer.maxFeeTinybar,
    memo: Buffer.from(transfer.memo, 'utf8'),
    node: entityId(transfer.nodeNumber ?? 0),
    hash: transfer.hash,
    validDurationSeconds: Number(transfer.validDurationSeconds),
    entityId: null,
    transfers: moves.lines(ledger),
  }
  ledger.records.add(record)
  return record
}

/** Changes of balance by address. */
class Moves {
  readonly changes = new Map<Address, bigint>()

  add(address: Address, tinybar: bigint): void {
    this.changes.set(address, (this.changes.get(address) ?? 0n) + tinybar)
  }

  reset(...changes: [Address, bigint][]): void {
    this.changes.clear()
    for (const [address, tinybar] of changes) this.add(address, tinybar)
  }

  copy(): Moves {
    const copy = new Moves()
    for (const [address, tinybar] of this.changes) copy.add(address, tinybar)
    return copy
  }

  lines(ledger: Ledger): Transfer[] {
    return [...this.changes]
      .filter(([, amountTinybar]) => amountTinybar !== 0n)
      .map(([address, amountTinybar]) => ({
        account: ledger.accounts.byAddress(address)?.id ?? FEE_COLLECTOR.id,
        amountTinybar,
        isApproval: false,
      }))
  }
}

async function judge(
  ledger: Ledger,
  judged: { transfer: SignedTransfer; forced: Status | undefined; moves: Moves },
): Promise<Status> {
  const { transfer, moves } = judged
  if (judged.forced !== undefined) return judged.forced
  for (const { account, amountTinybar, isApproval } of transfer.amounts) {
    const resolved = resolveAccount(ledger.accounts, account)
    if (resolved.kind === 'unknown') return 'INVALID_ACCOUNT_ID'
    if (resolved.kind === 'new-alias') {
      if (amountTinybar < 0n) return 'INVALID_ACCOUNT_ID'
      continue
    }
    if (amountTinybar < 0n && isApproval) return 'SPENDER_DOES_NOT_HAVE_ALLOWANCE'
    if (amountTinybar < 0n && !hasSigned(resolved.entity, transfer)) return 'INVALID_SIGNATURE'
    moves.add(resolved.entity.address, amountTinybar)
  }
  const payer = ledger.accounts.byNumber(transfer.payerNumber)
  const addresses = [...moves.changes.keys()]
  const balances = await ledger.evm.balances(addresses)
  const short = addresses.find((address, index) => {
    const change = moves.changes.get(address) ?? 0n
    return (balances[index] ?? 0n) + change < 0n
  })
  if (short === undefined) return 'SUCCESS'
  const feeTinybar = transferFeeTinybar(ledger)
  const payerBalance = balances[addresses.indexOf(payer?.address ?? '0x')] ?? 0n
  return short === payer?.address && payerBalance < feeTinybar
    ? 'INSUFFICIENT_PAYER_BALANCE'
    : 'INSUFFICIENT_ACCOUNT_BALANCE'
}

async function chargeable(ledger: Ledger, payer: Entity, feeTinybar: bigint): Promise<bigint> {
  const [balance = 0n] = await ledger.evm.balances([payer.address])
  return balance < feeTinybar ? balance : feeTinybar
}

function applyAmounts(
  ledger: Ledger,
  applied: { transfer: SignedTransfer; consensusNs: bigint; moves: Moves },
): void {
  const { transfer, consensusNs, moves } = applied
  for (const { account, amountTinybar } of transfer.amounts) {
    const resolved = resolveAccount(ledger.accounts, account)
    if (resolved.kind === 'unknown') continue
    const entity =
      resolved.kind === 'entity'
        ? resolved.entity
        : ledger.accounts.create({
            ...(resolved.address === undefined ? {} : { address: resolved.address }),
            key: resolved.key,
            createdNs: consensusNs,
          })
    if (amountTinybar < 0n) complete(entity, transfer)
    moves.add(entity.address, amountTinybar)
  }
}

function complete(entity: Entity, transfer: SignedTransfer): void {
  if (entity.key === null && entity.kind === 'account') {
    entity.key = completingKey(entity.address, transfer.signed) ?? null
  }
}

async function settle(ledger: Ledger, moves: Moves, consensusNs: bigint): Promise<void> {
  const addresses = [...moves.changes.keys()]
  const balances = await ledger.evm.balances(addresses)
  const after = addresses.map((address, index): [Address, bigint] => [
    address,
    (balances[index] ?? 0n) + (moves.changes.get(address) ?? 0n),
  ])
  await ledger.evm.setBalances(new Map(after), consensusNs)
}
