/**
 * A typed client of a Hedera mirror node's REST API: accounts, transactions by id, an account's transfers, and how far
 * the node has read the ledger. Every answer is bounded in time and size and parsed; any failure of the node throws
 * LedgerUnavailable.
 */
import { z } from 'zod'
import { addressSchema } from '../evm/evm-words.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import { longZeroAddress } from './account-id.ts'
import { TINYBAR_PER_HBAR } from './hbar.ts'
import { type HederaKey, readHederaKey } from './hedera-key.ts'
import {
  feeBorneBy,
  type LedgerRecord,
  type LedgerTransfer,
  nextPath,
  timestampSchema,
  toTransfer,
  transactionsSchema,
} from './ledger-record.ts'
import { holdingsSchema, type LedgerToken, type TokenHolding, tokenSchema } from './ledger-token.ts'
import { createReader, type MirrorReaderOptions, type Read, readPages } from './mirror-reader.ts'
import { mirrorTransactionId, parseTransactionId } from './transaction-id.ts'

/** Transactions per page; the most that mirror nodes return. */
const PAGE_SIZE = 100

/** Pages of an account's tokens that are read: a payment waits for them. */
const HOLDING_PAGES_MAX = 3

/** Tokens of an account that are read at most. */
export const HOLDINGS_MAX = HOLDING_PAGES_MAX * PAGE_SIZE

/**
 * Kinds of transactions by which somebody pays, without those that create an account or that the network makes by itself.
 */
const TRANSFERS: ReadonlySet<string> = new Set(['CRYPTOTRANSFER', 'ETHEREUMTRANSACTION'])

const keySchema = z
  .object({ _type: z.string(), key: z.string().transform((hex) => Buffer.from(hex, 'hex')) })
  .transform(({ _type, key: publicKey }): HederaKey => {
    switch (_type) {
      case 'ED25519':
        return { kind: 'ed25519', publicKey }
      case 'ECDSA_SECP256K1':
        return { kind: 'ecdsa', publicKey }
      case 'ProtobufEncoded':
        return readHederaKey(publicKey)
      default:
        return { kind: 'unsupported' }
    }
  })

const accountSchema = z
  .object({
    account: z.string(),
    evm_address: addressSchema.nullish().catch(undefined),
    deleted: z.boolean().nullish(),
    balance: z
      .object({ balance: z.int().min(0).transform(BigInt) })
      .nullish()
      .catch(undefined),
    key: keySchema.nullish(),
    max_automatic_token_associations: z.int().nullish(),
    receiver_sig_required: z.boolean().nullish(),
  })
  .transform(({ account: accountId, balance, deleted, evm_address: evmAddress, key, ...json }) => ({
    /** `shard.realm.num`. */
    accountId,
    /** `0x` and 40 lower-case hex digits; the long-zero form if the account has no EVM alias. */
    evmAddress: evmAddress ?? longZeroAddress(accountId),
    /** Null for a hollow account, whose first signature supplies its key. */
    key: key ?? null,
    isDeleted: deleted ?? false,
    /** Nobody pays it without its own signature. */
    ...(json.receiver_sig_required && { mustSign: true }),
    /** As the mirror node knew it seconds ago; absent if the node does not say. */
    ...(balance && { balanceTinybar: balance.balance }),
    /** How many tokens it takes unasked: −1 any number, absent none. */
    ...(json.max_automatic_token_associations && {
      autoAssociationsMax: json.max_automatic_token_associations,
    }),
  }))

/** An account as the ledger knows it. */
export type LedgerAccount = Readonly<z.output<typeof accountSchema>>

const blocksSchema = z.object({
  blocks: z.array(
    z.object({ timestamp: z.object({ from: timestampSchema, to: timestampSchema.nullish() }) }),
  ),
})

const exchangeRateSchema = z.object({
  current_rate: z.object({
    cent_equivalent: z.int().positive().transform(BigInt),
    hbar_equivalent: z.int().positive().transform(BigInt),
  }),
})

const hexSchema = z.templateLiteral(['0x', z.string().regex(/^[0-9a-fA-F]*$/)])

const contractSchema = z.object({ created_timestamp: timestampSchema })

const logsSchema = z.object({
  logs: z.array(
    z
      .object({ timestamp: timestampSchema, data: hexSchema, topics: z.array(hexSchema) })
      .transform(({ timestamp, ...log }) => ({ consensusTimestamp: timestamp, ...log })),
  ),
  links: z.object({ next: nextPath }).nullish(),
})

/** One event of a contract: its data and topics as in a receipt. */
type ContractLog = Readonly<z.output<typeof logsSchema>['logs'][number]>

type WantedGas = { readonly accountId: string; readonly afterTimestamp: string }
type GasPaid = { readonly consensusTimestamp: string; readonly tinybar: bigint }

type WantedLogs = {
  readonly address: string
  /** Hashes of the events' signatures. */
  readonly topics: readonly string[]
  /** `seconds.nanos`, exclusive. */
  readonly afterTimestamp: string
  /** Unix seconds. */
  readonly untilSeconds: number
}

/** Of the 7 days before `untilSeconds`. */
type WantedRecentLogs = Pick<WantedLogs, 'address' | 'topics' | 'untilSeconds'> & {
  /** What the event says first: 32 bytes in hex. */
  readonly topic1: string
}

/** The longest span in which a mirror node searches for topics, seconds: 7 days. */
const LOG_SPAN_SECONDS = 604_800

/** How far the node has read the ledger, and its own clock's time, Unix seconds. */
export type LedgerTime = {
  readonly consensusSeconds: number
  readonly nodeSeconds?: number | undefined
}

export type MirrorNode = ReturnType<typeof createMirrorNode>

/** A mirror node at `url`. Every method throws LedgerUnavailable. */
export function createMirrorNode(options: MirrorReaderOptions) {
  const read = createReader(options)
  const ledgerTime = async (): Promise<LedgerTime> => {
    let nodeSeconds: number | undefined
    const found = await read('/api/v1/blocks?limit=1&order=desc', blocksSchema, {
      hear: ({ serverSeconds }) => {
        nodeSeconds = serverSeconds
      },
    })
    const last = found?.blocks[0]?.timestamp
    if (last === undefined) throw new LedgerUnavailable('the mirror node knows no block')
    return { consensusSeconds: Math.floor(Number(last.to ?? last.from)), nodeSeconds }
  }
  return {
    /** An account by `0.0.x`, `0x` address or base32 key alias; undefined if there is none. */
    async account(name: string): Promise<LedgerAccount | undefined> {
      const path = `/api/v1/accounts/${encodeURIComponent(name)}?transactions=false`
      // For a number beyond any that the ledger can assign, the node answers 400: no such account either.
      return await read(path, accountSchema, { absent: [400, 404] })
    },
    /** A token; undefined if there is none. */
    async token(tokenId: string): Promise<LedgerToken | undefined> {
      return await read(`/api/v1/tokens/${tokenId}`, tokenSchema, { absent: [400, 404] })
    },
    /** What an account holds of a token, or of every token that it is associated with, up to HOLDINGS_MAX. */
    async *holdings(accountId: string, tokenId?: string): AsyncGenerator<TokenHolding> {
      const wanted = tokenId === undefined ? `limit=${PAGE_SIZE}` : `token.id=${tokenId}`
      const first = `/api/v1/accounts/${accountId}/tokens?${wanted}`
      const pages = { schema: holdingsSchema, pagesMax: HOLDING_PAGES_MAX }
      for await (const { tokens } of readPages(read, first, pages)) yield* tokens
    },
    /** All records of a transaction id, in either spelling: its own, its duplicates' and its children's. */
    async transaction(transactionId: string): Promise<readonly LedgerRecord[]> {
      const id = parseTransactionId(transactionId)
      if (id === undefined) throw new RangeError('not a transaction id')
      const path = `/api/v1/transactions/${mirrorTransactionId(id)}`
      const found = await read(path, transactionsSchema)
      return found?.transactions ?? []
    },
    /**
     * Successful transfers that credited or debited the account, refunds included, oldest first, page by page. Only those
     * after the consensus timestamp `seconds.nanos` are read.
     */
    transfers: (wanted: {
      readonly accountId: string
      readonly direction: 'credit' | 'debit'
      readonly afterTimestamp: string
      /** The only kind read; by default native transfers for debits, both kinds for credits. */
      readonly kind?: 'CRYPTOTRANSFER' | 'ETHEREUMTRANSACTION'
    }): AsyncIterable<LedgerTransfer> => readTransfers(read, wanted),
    /** Reads what the account paid for gas of its Ethereum transactions, failed ones included, oldest first, tinybar. */
    gasPaid: (wanted: WantedGas): AsyncIterable<GasPaid> => readGasPaid(read, wanted),
    /** A contract's logs that have one of these first topics, oldest first. */
    logs: (wanted: WantedLogs): AsyncIterable<ContractLog> => readLogs(read, wanted),
    /** The newest logs that have one of these first topics and this second one, newest first, at most 100. */
    async recentLogs(wanted: WantedRecentLogs): Promise<readonly ContractLog[]> {
      const { untilSeconds: until } = wanted
      const after = `${until - LOG_SPAN_SECONDS}.000000000`
      const found = await read(logsPath(wanted, { after, until, order: 'desc' }), logsSchema)
      return found?.logs ?? []
    },
    /** When the contract at an address was created, `seconds.nanos`; undefined if there is none. */
    async contractCreated(address: string): Promise<string | undefined> {
      const found = await read(`/api/v1/contracts/${address}`, contractSchema)
      return found?.created_timestamp
    },
    /** One US cent in tinybar at the network's current rate. */
    async tinybarPerCent(): Promise<bigint> {
      const found = await read('/api/v1/network/exchangerate', exchangeRateSchema)
      if (found === undefined) throw new LedgerUnavailable('the mirror node knows no rate')
      const { cent_equivalent: cents, hbar_equivalent: hbar } = found.current_rate
      return (hbar * TINYBAR_PER_HBAR) / cents
    },
    ledgerTime,
    /** Consensus time, Unix seconds, up to which the node has read the ledger. */
    latestConsensusSeconds: async (): Promise<number> => (await ledgerTime()).consensusSeconds,
  }
}

async function* readRecords(
  read: Read,
  query: Readonly<Record<string, string>>,
): AsyncGenerator<LedgerRecord> {
  const search = new URLSearchParams({ ...query, order: 'asc', limit: String(PAGE_SIZE) })
  const first = `/api/v1/transactions?${search.toString()}`
  for await (const { transactions } of readPages(read, first, { schema: transactionsSchema }))
    yield* transactions
}

async function* readTransfers(
  read: Read,
  wanted: Parameters<MirrorNode['transfers']>[0],
): AsyncGenerator<LedgerTransfer> {
  // A refund has a memo, as only native transfers do; a credit may also come from an Ethereum wallet.
  const kind = wanted.kind ?? (wanted.direction === 'debit' ? 'CRYPTOTRANSFER' : undefined)
  const records = readRecords(read, {
    'account.id': wanted.accountId,
    timestamp: `gt:${wanted.afterTimestamp}`,
    type: wanted.direction,
    result: 'success',
    ...(kind !== undefined && { transactiontype: kind }),
  })
  for await (const record of records) {
    if (!TRANSFERS.has(record.name)) continue
    const transfer = toTransfer(record, wanted.accountId)
    if (transfer?.direction === wanted.direction) yield transfer
  }
}

async function* readGasPaid(
  read: Read,
  { accountId, afterTimestamp }: WantedGas,
): AsyncGenerator<GasPaid> {
  const records = readRecords(read, {
    'account.id': accountId,
    timestamp: `gt:${afterTimestamp}`,
    type: 'debit',
    transactiontype: 'ETHEREUMTRANSACTION',
  })
  for await (const record of records)
    yield {
      consensusTimestamp: record.consensusTimestamp,
      tinybar: feeBorneBy(record, accountId),
    }
}

function logsPath(
  { address, topics, topic1 }: Pick<WantedLogs, 'address' | 'topics'> & { topic1?: string },
  { after, until, order }: { after: string; until: number; order: 'asc' | 'desc' },
): string {
  const search = new URLSearchParams([
    ...topics.map((topic) => ['topic0', topic]),
    ...(topic1 === undefined ? [] : [['topic1', topic1]]),
    ['timestamp', `gt:${after}`],
    ['timestamp', `lte:${until}.000000000`],
    ['order', order],
    ['limit', String(PAGE_SIZE)],
  ])
  return `/api/v1/contracts/${address}/results/logs?${search.toString()}`
}

async function* readLogs(read: Read, wanted: WantedLogs): AsyncGenerator<ContractLog> {
  const { afterTimestamp, untilSeconds } = wanted
  let after = afterTimestamp
  while (Number(after) < untilSeconds) {
    const until = Math.min(Math.floor(Number(after)) + LOG_SPAN_SECONDS, untilSeconds)
    const first = logsPath(wanted, { after, until, order: 'asc' })
    for await (const { logs } of readPages(read, first, { schema: logsSchema })) yield* logs
    after = `${until}.000000000`
  }
}
