// Reads from an EVM execution's trace what it moved between accounts: on request, and for the rest in batches of fifty before
// their states are forgotten. Tracing them one by one would halve the ledger's speed.

import type { Address, Hex } from 'viem'
import type { Entity } from './account-registry.ts'
import { entityId, longZeroNumber } from './entity-id.ts'
import { gasFees } from './evm-transaction.ts'
import type { Ledger } from './ledger.ts'
import { listTransfers, netMoves, type TransactionRecord, type Transfer } from './records.ts'
import type { Token } from './token.ts'

/** A call as anvil's callTracer shows it, with the calls that it made. */
export type TraceFrame = {
  type: string
  from: Address
  to?: Address
  gas: Hex
  gasUsed: Hex
  value?: Hex
  input: Hex
  output?: Hex
  error?: string
  calls?: TraceFrame[]
}

/**
 * Traces per message to anvil: enough to hide the round trip, few enough that changes queued behind them wait only
 * milliseconds.
 */
const TRACES_PER_BATCH = 50

/**
 * Fills in missing transfers of the EVM records among `records`. Traces go through the queue of changes, since anvil
 * 1.7.1 deadlocks if it traces while it stores a block.
 */
export async function completeTransfers(
  ledger: Ledger,
  records: readonly TransactionRecord[],
): Promise<void> {
  const open = records.filter(isOpen)
  for (let start = 0; start < open.length; start += TRACES_PER_BATCH) {
    await ledger.queue.run(() => trace(ledger, open.slice(start, start + TRACES_PER_BATCH)))
  }
}

/** Fills in the transfers of every record that still lacks them, before their states are forgotten. The caller holds the queue. */
export async function completeOpenTransfers(ledger: Ledger): Promise<void> {
  const open = ledger.records.takeIncomplete().filter(isOpen)
  for (let start = 0; start < open.length; start += TRACES_PER_BATCH) {
    await trace(ledger, open.slice(start, start + TRACES_PER_BATCH))
  }
}

function isOpen({ transfers, evm }: TransactionRecord): boolean {
  return transfers === undefined && evm !== undefined
}

async function trace(ledger: Ledger, records: readonly TransactionRecord[]): Promise<void> {
  // Some may have been requested and traced meanwhile, and their states may be gone.
  const open = records.filter(isOpen)
  const traces = await ledger.anvil.batch(
    open.map(({ evm }) => [
      'debug_traceTransaction',
      [evm?.innerHash ?? '0x', { tracer: 'callTracer' }],
    ]),
  )
  for (const [index, record] of open.entries()) {
    record.transfers = tracedTransfers(ledger, record, traces[index] as TraceFrame)
  }
}

function tracedTransfers(ledger: Ledger, record: TransactionRecord, top: TraceFrame): Transfer[] {
  const requireId = (address: Address): string => {
    // A long-zero address is a number, even if no entity has it.
    const number = longZeroNumber(address)
    const known = ledger.accounts.byAddress(address)
    if (known === undefined && number !== undefined) return entityId(number)
    return (known ?? ledger.entityAt(address, record.consensusNs)).id
  }
  const moves: (readonly [string, bigint])[] = []
  const walk = (frame: TraceFrame): void => {
    // A failed frame undoes what it and the frames under it moved.
    if (frame.error !== undefined) return
    const value = BigInt(frame.value ?? 0)
    const isMoving = frame.type !== 'DELEGATECALL' && frame.type !== 'STATICCALL'
    if (value > 0n && isMoving && frame.to !== undefined) {
      moves.push([requireId(frame.from), -value], [requireId(frame.to), value])
    }
    for (const call of frame.calls ?? []) walk(call)
  }
  walk(top)
  const transaction = ledger.transactions.byHash(record.evm?.hash ?? '')
  if (transaction !== undefined) moves.push(...gasFees(transaction, requireId(top.from)))
  return listTransfers(netMoves(moves))
}

/**
 * What entities balances at a consensus timestamp, tinybar: what they hold now, less what records have moved since. States are
 * forgotten after minutes, records after hours.
 */
export async function balancesAt(
  ledger: Ledger,
  entities: readonly Entity[],
  consensusNs: bigint,
): Promise<bigint[]> {
  return ledger.queue.run(async () => {
    await completeOpenTransfers(ledger)
    const since = ledger.records.between({ from: consensusNs + 1n, to: 2n ** 63n })
    const moved = netMoves(
      since.flatMap(({ transfers = [] }) =>
        transfers.map(({ account, amountTinybar }) => [account, amountTinybar] as const),
      ),
    )
    const balances = await ledger.evm.balances(entities.map(({ address }) => address))
    return entities.map(({ id }, at) => (balances[at] ?? 0n) - (moved.get(id) ?? 0n))
  })
}

/** Reads what accounts held of tokens at a consensus timestamp; undefined for what they were not associated with. */
export function readTokensAt(ledger: Ledger, consensusNs: bigint) {
  const since = ledger.records.between({ from: consensusNs + 1n, to: 2n ** 63n })
  const moved = netMoves(
    since.flatMap(({ tokenTransfers = [] }) =>
      tokenTransfers.map(({ account, amount, token }) => [`${token}/${account}`, amount] as const),
    ),
  )
  return (token: Token, account: Entity): bigint | undefined => {
    const relation = ledger.tokens.relation(token, account)
    if (relation === undefined || relation.createdNs > consensusNs) return undefined
    return relation.balance - (moved.get(`${token.id}/${account.id}`) ?? 0n)
  }
}
