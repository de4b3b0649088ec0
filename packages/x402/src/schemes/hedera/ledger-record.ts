/** A transaction's records as mirror nodes tell them, read as far as payments need, and what they moved. */
import { z } from 'zod'
import { LedgerUnavailable } from '../payment-scheme.ts'
import {
  canonicalTransactionId,
  type PaymentReference,
  parseTransactionId,
  paymentReference,
} from './transaction-id.ts'

/** Unix seconds and nanoseconds. */
export const timestampSchema = z.string().regex(/^\d{1,19}\.\d{1,9}$/)

/** Amounts in tinybar. JSON numbers: 5e18 tinybar of total supply exceed 2^53, a single transfer does not in practice. */
const tinybarSchema = z.int().transform(BigInt)

const transactionSchema = z.object({
  transaction_id: z.string(),
  consensus_timestamp: timestampSchema.nullish(),
  charged_tx_fee: z.int().nullish(),
  memo_base64: z.string().nullish(),
  name: z.string(),
  nonce: z.int().nullish(),
  scheduled: z.boolean().nullish(),
  result: z.string(),
  transfers: z
    .array(
      z.object({
        account: z.string(),
        amount: tinybarSchema,
        is_approval: z.boolean().nullish(),
      }),
    )
    .nullish(),
  staking_reward_transfers: z
    .array(z.object({ account: z.string(), amount: tinybarSchema }))
    .nullish(),
})

export const transactionsSchema = z.object({
  transactions: z.array(transactionSchema),
  links: z.object({ next: z.string().nullish() }).nullish(),
})

/** One record of a transaction, as the mirror node tells it. Amounts in tinybar, debits negative. */
export type LedgerRecord = {
  /** `0.0.x@seconds.nanos`, nine digits. */
  readonly transactionId: string
  /** The account of the transaction id, who pays the fee. */
  readonly feePayer: string
  /** `seconds.nanos`. */
  readonly consensusTimestamp: string
  readonly consensusSeconds: number
  /** `SUCCESS`, or why it failed. */
  readonly result: string
  /** Kind of transaction, e.g. `CRYPTOTRANSFER`. */
  readonly name: string
  /** 0 for the transaction itself, more for what it caused. */
  readonly nonce: number
  readonly isScheduled: boolean
  readonly memo: string
  readonly feeTinybar: bigint
  readonly transfers: readonly { readonly accountId: string; readonly amountTinybar: bigint }[]
  /** Staking rewards that the transaction paid out on the way; they are part of `transfers` as well. */
  readonly rewards: readonly { readonly accountId: string; readonly amountTinybar: bigint }[]
}

/** The account that pays staking rewards. */
const STAKING_REWARD_ACCOUNT = '0.0.800'

/** A successful transfer seen from one account. */
export type LedgerTransfer = {
  readonly direction: 'credit' | 'debit'
  readonly transactionId: string
  /** Text and hash that name it on the contract (A2). */
  readonly reference: PaymentReference
  readonly feePayer: string
  readonly consensusTimestamp: string
  readonly consensusSeconds: number
  readonly memo: string
  /** What the account got, or gave beyond fees; above 0. */
  readonly amountTinybar: bigint
  /**
   * The other side: who was debited for a credit, who was credited for a debit, the fee payer's fee taken out. Node and
   * network fee accounts, which every transaction credits, are among a debit's.
   */
  readonly counterparties: readonly { readonly accountId: string; readonly amountTinybar: bigint }[]
}

/** A record from a mirror node's JSON. Throws LedgerUnavailable for one without a readable id or consensus time. */
export function toRecord(json: z.infer<typeof transactionSchema>): LedgerRecord {
  const id = parseTransactionId(json.transaction_id)
  const timestamp = json.consensus_timestamp
  if (id === undefined || typeof timestamp !== 'string') {
    throw new LedgerUnavailable('the mirror node gave a record without id or consensus time')
  }
  return {
    transactionId: canonicalTransactionId(id),
    feePayer: id.accountId,
    consensusTimestamp: timestamp,
    consensusSeconds: Math.floor(Number(timestamp)),
    result: json.result,
    name: json.name,
    nonce: json.nonce ?? 0,
    isScheduled: json.scheduled ?? false,
    memo: Buffer.from(json.memo_base64 ?? '', 'base64').toString('utf8'),
    feeTinybar: BigInt(json.charged_tx_fee ?? 0),
    transfers: (json.transfers ?? []).map(({ account, amount }) => ({
      accountId: account,
      amountTinybar: amount,
    })),
    rewards: (json.staking_reward_transfers ?? []).map(({ account, amount }) => ({
      accountId: account,
      amountTinybar: amount,
    })),
  }
}

/** What a successful record moved to or from an account, undefined where it moved nothing but fees. */
export function toTransfer(record: LedgerRecord, accountId: string): LedgerTransfer | undefined {
  if (record.result !== 'SUCCESS') return undefined
  const net = netByAccount(record)
  const amount = net.get(accountId) ?? 0n
  if (amount === 0n) return undefined
  const isCredit = amount > 0n
  const { consensusSeconds, consensusTimestamp, feePayer, memo, transactionId } = record
  return {
    direction: isCredit ? 'credit' : 'debit',
    transactionId,
    reference: paymentReference(transactionId),
    feePayer,
    consensusTimestamp,
    consensusSeconds,
    memo,
    amountTinybar: isCredit ? amount : -amount,
    counterparties: [...net]
      .filter(([, other]) => (isCredit ? other < 0n : other > 0n))
      .map(([other, value]) => ({ accountId: other, amountTinybar: isCredit ? -value : value })),
  }
}

/** Net movement of each account without the fee payer's fee and staking rewards: what the transfer itself moved. */
export function netByAccount(record: LedgerRecord): Map<string, bigint> {
  const net = new Map<string, bigint>()
  const add = (account: string, tinybar: bigint): void => {
    net.set(account, (net.get(account) ?? 0n) + tinybar)
  }
  for (const { accountId, amountTinybar } of record.transfers) add(accountId, amountTinybar)
  for (const { accountId, amountTinybar } of feesOf(record)) add(accountId, amountTinybar)
  for (const { accountId, amountTinybar } of record.rewards) {
    add(accountId, -amountTinybar)
    add(STAKING_REWARD_ACCOUNT, amountTinybar)
  }
  return net
}

/**
 * Who bore the fee. The account of the transaction id does, but for an Ethereum transaction: there that is a relay, and
 * the sender pays for its gas, all of it or what the relay does not add.
 */
function feesOf(record: LedgerRecord): readonly { accountId: string; amountTinybar: bigint }[] {
  const { feePayer: accountId, feeTinybar, name, transfers } = record
  if (name !== 'ETHEREUMTRANSACTION') return [{ accountId, amountTinybar: feeTinybar }]
  const debits = transfers.filter(({ amountTinybar }) => amountTinybar < 0n)
  const relayDebit = debits.find((debit) => debit.accountId === accountId)?.amountTinybar ?? 0n
  const byRelay = -relayDebit < feeTinybar ? -relayDebit : feeTinybar
  const [sender, ...others] = debits.filter((debit) => debit.accountId !== accountId)
  const relay = { accountId, amountTinybar: byRelay }
  if (sender === undefined || others.length > 0) return [relay]
  return [relay, { accountId: sender.accountId, amountTinybar: feeTinybar - byRelay }]
}
