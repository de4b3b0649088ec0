/** A transaction's records from a mirror node, as far as payments need them, and what they moved. */
import { z } from 'zod'
import { HBAR_ASSET } from './hbar.ts'
import { type PaymentReference, paymentReference } from './payment-reference.ts'
import { canonicalTransactionId, parseTransactionId } from './transaction-id.ts'

/** Unix seconds and nanoseconds, `seconds.nanos`. */
export const timestampSchema = z.string().regex(/^\d{1,19}\.\d{1,9}$/)

/** Tinybar, debits negative. JSON numbers: the total supply of 5e18 exceeds 2^53, but in practice no single transfer does. */
const lines = z
  .array(
    z
      .object({ account: z.string(), amount: z.int() })
      .transform((line) => ({ accountId: line.account, amountTinybar: BigInt(line.amount) })),
  )
  .nullish()
  .transform((value) => value ?? [])

/**
 * A count of base units. Above 2^53 the node's JSON no longer says it exactly; nobody may be paid so much (`invalid_amount`), but
 * anybody may have moved it in a token of their own, beside a payment.
 */
export const unitsSchema = z.number().transform(BigInt)

/** Moves of tokens, custom fees included, debits negative. */
const tokenLines = z
  .array(
    z
      .object({ token_id: z.string(), account: z.string(), amount: unitsSchema })
      .transform((line) => ({
        asset: line.token_id,
        accountId: line.account,
        amount: line.amount,
      })),
  )
  .nullish()
  .transform((value) => value ?? [])

/** One record of a transaction; refused if its id or consensus time is unreadable. */
const recordSchema = z
  .object({
    transaction_id: z.string().transform((text, context) => {
      const id = parseTransactionId(text)
      if (id === undefined) context.addIssue('not a transaction id')
      return id ?? z.NEVER
    }),
    consensus_timestamp: timestampSchema,
    charged_tx_fee: z.int().nullish(),
    memo_base64: z.string().nullish(),
    name: z.string(),
    nonce: z.int().nullish(),
    scheduled: z.boolean().nullish(),
    result: z.string(),
    transfers: lines,
    staking_reward_transfers: lines,
    token_transfers: tokenLines,
  })
  .transform((json) => {
    const nonce = json.nonce ?? 0
    const isEthereum = json.name === 'ETHEREUMTRANSACTION'
    return {
      /** `0.0.x@seconds.nanos`, nine digits; a child has its parent's. */
      transactionId: canonicalTransactionId(json.transaction_id),
      /** The account in the transaction id, which pays the fee. */
      feePayer: json.transaction_id.accountId,
      /** `seconds.nanos`. */
      consensusTimestamp: json.consensus_timestamp,
      consensusSeconds: Math.floor(Number(json.consensus_timestamp)),
      /** `SUCCESS`, or why it failed. */
      result: json.result,
      /** Kind of transaction, e.g. `CRYPTOTRANSFER`. */
      name: json.name,
      /** 0 for the transaction itself, higher for its child transactions. */
      nonce,
      isScheduled: json.scheduled ?? false,
      /** Only a memo that the payer signed: an Ethereum transaction's is written by its submitter, a child's is unsigned. */
      memo:
        isEthereum || nonce > 0
          ? ''
          : Buffer.from(json.memo_base64 ?? '', 'base64').toString('utf8'),
      feeTinybar: BigInt(json.charged_tx_fee ?? 0),
      transfers: json.transfers,
      tokenTransfers: json.token_transfers,
      /** Staking rewards that the transaction paid out along the way; also part of `transfers`. */
      rewards: json.staking_reward_transfers,
    }
  })

/** The next page must stay on the node: only a path is followed. */
export const nextPath = z
  .string()
  .regex(/^(?:\/api\/v1\/.*)?$/)
  .nullish()

export const transactionsSchema = z.object({
  transactions: z.array(recordSchema),
  links: z.object({ next: nextPath }).nullish(),
})

/** One record of a transaction, as reported by the mirror node. */
export type LedgerRecord = Readonly<z.output<typeof recordSchema>>

/** The account that pays staking rewards. */
const STAKING_REWARD_ACCOUNT = '0.0.800'

/** A successful transfer as seen by one account. */
export type LedgerTransfer = Pick<
  LedgerRecord,
  'transactionId' | 'feePayer' | 'consensusTimestamp' | 'consensusSeconds' | 'memo'
> & {
  readonly direction: 'credit' | 'debit'
  /** Text and hash that name it on the contract (A2). */
  readonly reference: PaymentReference
  /** The account received this, or gave it apart from fees; above 0. */
  readonly amountTinybar: bigint
  /**
   * The other side: for a credit, who was debited; for a debit, who was credited; in both cases without the fee payer's
   * fee. For a debit this includes the node and network fee accounts, which every transaction credits.
   */
  readonly counterparties: readonly { readonly accountId: string; readonly amountTinybar: bigint }[]
}

/** Finds what a successful record moved to or from an account; undefined if only fees. */
export function toTransfer(record: LedgerRecord, accountId: string): LedgerTransfer | undefined {
  if (record.result !== 'SUCCESS') return undefined
  const net = netByAccount(record)
  const amount = net.get(accountId) ?? 0n
  if (amount === 0n) return undefined
  const isCredit = amount > 0n
  const { consensusSeconds, consensusTimestamp, feePayer, memo, nonce } = record
  // Transfers of one parent differ only in their number.
  const transactionId = nonce === 0 ? record.transactionId : `${record.transactionId}/${nonce}`
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

/**
 * Each account's net movement of an asset, without the fee payer's fee and staking rewards: what the transfer itself moved. A token's
 * custom fees are part of it.
 */
export function netByAccount(record: LedgerRecord, wantedAsset = HBAR_ASSET): Map<string, bigint> {
  const net = new Map<string, bigint>()
  const add = (account: string, amount: bigint): void => {
    net.set(account, (net.get(account) ?? 0n) + amount)
  }
  if (wantedAsset !== HBAR_ASSET) {
    for (const { accountId, amount, asset } of record.tokenTransfers)
      if (asset === wantedAsset) add(accountId, amount)
    return net
  }
  for (const { accountId, amountTinybar } of record.transfers) add(accountId, amountTinybar)
  for (const { accountId, amountTinybar } of listFees(record)) add(accountId, amountTinybar)
  for (const { accountId, amountTinybar } of record.rewards) {
    add(accountId, -amountTinybar)
    add(STAKING_REWARD_ACCOUNT, amountTinybar)
  }
  return net
}

/**
 * Who bore the fee: the account in the transaction id. In an Ethereum transaction that account is a relay, and the sender
 * pays the gas, in full or whatever the relay does not cover.
 */
function listFees(record: LedgerRecord): readonly { accountId: string; amountTinybar: bigint }[] {
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

/** The part of a record's fee that an account bore, tinybar. */
export function feeBorneBy(record: LedgerRecord, accountId: string): bigint {
  return listFees(record)
    .filter((share) => share.accountId === accountId)
    .reduce((sum, { amountTinybar }) => sum + amountTinybar, 0n)
}
