/**
 * A typed client of a Hedera mirror node's REST interface: accounts, transactions by id, an account's credits and
 * debits, and how far the node has read the ledger. Every answer is bounded in time and size and parsed; a node that
 * fails in any way throws LedgerUnavailable.
 */
import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import { fetchJson } from '../../http-json.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import type { LedgerAccount } from './account-directory.ts'
import { longZeroAddress } from './account-id.ts'
import { type HederaKey, readHederaKey } from './hedera-key.ts'
import {
  type LedgerRecord,
  type LedgerTransfer,
  timestampSchema,
  toTransfer,
  transactionsSchema,
} from './ledger-record.ts'
import { mirrorTransactionId, parseTransactionId } from './transaction-id.ts'

export type MirrorNodeOptions = {
  /** Base address, without `/api/v1`. */
  readonly url: string
  readonly clock: Clock
  /** Longest wait for one answer. */
  readonly timeoutMs?: number
}

/** A public mirror node answers in 0.1 to 2 s. */
const TIMEOUT_MS = 10_000

/** A page of 100 transactions with long transfer lists is about 300 kB. */
const ANSWER_BYTES_MAX = 2_097_152

/** Transactions per page; the most that mirror nodes give. */
const PAGE_SIZE = 100

/** Pages read in one call: 100,000 transfers, more than 30 days of a busy seller; the caller goes on from the last. */
const PAGES_MAX = 1_000

/** Kinds of transactions by which somebody pays: not what creates an account, and not what the network calls by itself. */
const TRANSFERS: ReadonlySet<string> = new Set(['CRYPTOTRANSFER', 'ETHEREUMTRANSACTION'])

const accountSchema = z.object({
  account: z.string(),
  evm_address: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/)
    .transform((text) => text.toLowerCase() as `0x${string}`)
    .nullish()
    .catch(undefined),
  deleted: z.boolean().nullish(),
  balance: z
    .object({ balance: z.int().min(0).transform(BigInt) })
    .nullish()
    .catch(undefined),
  key: z
    .object({ _type: z.string(), key: z.string() })
    .transform(({ _type: type, key }) => ({ type, hex: key }))
    .nullish(),
})

const blocksSchema = z.object({
  blocks: z.array(
    z.object({ timestamp: z.object({ from: timestampSchema, to: timestampSchema.nullish() }) }),
  ),
})

export type TransfersSince = {
  /** The account, `0.0.x`. */
  readonly accountId: string
  /** Consensus timestamp `seconds.nanos`; only later ones are read. */
  readonly afterTimestamp: string
}

export type MirrorNode = ReturnType<typeof createMirrorNode>

type Read = <Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  absent?: readonly number[],
) => Promise<z.infer<Schema> | undefined>

/** A mirror node at `url`. Every method throws LedgerUnavailable where the node does not answer well. */
export function createMirrorNode(options: MirrorNodeOptions) {
  const read = createReader(options)
  return {
    /** An account by `0.0.x`, `0x` address or base32 key alias; undefined where there is none. */
    async account(name: string): Promise<LedgerAccount | undefined> {
      const path = `/api/v1/accounts/${encodeURIComponent(name)}?transactions=false`
      // A number beyond what the ledger can ever give out is a bad request to the node, and no account either.
      const found = await read(path, accountSchema, [400, 404])
      return found === undefined ? undefined : toAccount(found)
    },
    /** All records of a transaction id, in either spelling: its own, its duplicates' and its children's. */
    async transaction(transactionId: string): Promise<readonly LedgerRecord[]> {
      const id = parseTransactionId(transactionId)
      if (id === undefined) throw new RangeError('not a transaction id')
      const path = `/api/v1/transactions/${mirrorTransactionId(id)}`
      const found = await read(path, transactionsSchema)
      return found?.transactions ?? []
    },
    /** Successful transfers that credited the account, oldest first, page after page. */
    credits: (since: TransfersSince): AsyncIterable<LedgerTransfer> =>
      readTransfers(read, { ...since, direction: 'credit' }),
    /** Successful transfers that debited the account, oldest first; refunds are among them. */
    debits: (since: TransfersSince): AsyncIterable<LedgerTransfer> =>
      readTransfers(read, { ...since, direction: 'debit' }),
    /** Consensus time, Unix seconds, up to which the node has read the ledger. */
    async latestConsensusSeconds(): Promise<number> {
      const found = await read('/api/v1/blocks?limit=1&order=desc', blocksSchema)
      const last = found?.blocks[0]?.timestamp
      if (last === undefined) throw new LedgerUnavailable('the mirror node knows no block')
      return Math.floor(Number(last.to ?? last.from))
    },
  }
}

/** Reads one path: parsed JSON, undefined for the statuses that mean absence, LedgerUnavailable for everything else. */
function createReader(options: MirrorNodeOptions): Read {
  const base = options.url.replace(/\/+$/, '')
  const { clock } = options
  return async (path, schema, absent = [404]) => {
    const answer = await fetchJson({
      url: `${base}${path}`,
      clock,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
    })
    if (answer.kind !== 'answered') {
      throw new LedgerUnavailable('the mirror node did not answer', { cause: answer.cause })
    }
    if (absent.includes(answer.status)) return undefined
    const parsed = schema.safeParse(answer.json)
    if (answer.status !== 200 || !parsed.success) {
      const cause = parsed.error ?? answer.json
      throw new LedgerUnavailable(`the mirror node answered ${answer.status}`, { cause })
    }
    return parsed.data
  }
}

async function* readTransfers(
  read: Read,
  wanted: TransfersSince & { readonly direction: 'credit' | 'debit' },
): AsyncGenerator<LedgerTransfer> {
  const query = new URLSearchParams({
    'account.id': wanted.accountId,
    timestamp: `gt:${wanted.afterTimestamp}`,
    type: wanted.direction,
    result: 'success',
    // A refund carries a memo, which only native transfers have; a credit may also come from an Ethereum wallet.
    ...(wanted.direction === 'debit' ? { transactiontype: 'CRYPTOTRANSFER' } : {}),
    order: 'asc',
    limit: String(PAGE_SIZE),
  })
  let path: string | undefined = `/api/v1/transactions?${query.toString()}`
  for (let page = 0; page < PAGES_MAX && path !== undefined; page += 1) {
    const answer: z.infer<typeof transactionsSchema> | undefined = await read(
      path,
      transactionsSchema,
    )
    for (const record of answer?.transactions ?? []) {
      if (!TRANSFERS.has(record.name)) continue
      const transfer = toTransfer(record, wanted.accountId)
      if (transfer?.direction === wanted.direction) yield transfer
    }
    path = nextPath(answer?.links?.next)
  }
}

/** The node's own link to the next page, which must stay on the node: only a path is followed. */
function nextPath(next: string | null | undefined): string | undefined {
  if (typeof next !== 'string' || next === '') return undefined
  if (!next.startsWith('/api/v1/')) throw new LedgerUnavailable('the next page is elsewhere')
  return next
}

function toAccount(found: z.infer<typeof accountSchema>): LedgerAccount {
  const { account: accountId, balance, deleted, evm_address: evmAddress, key } = found
  try {
    return {
      accountId,
      evmAddress: evmAddress ?? longZeroAddress(accountId),
      key: toKey(key),
      isDeleted: deleted ?? false,
      balanceTinybar: balance?.balance,
    }
  } catch (cause) {
    throw new LedgerUnavailable('the mirror node gave an account that cannot be read', { cause })
  }
}

function toKey(key: { type: string; hex: string } | null | undefined): HederaKey | null {
  if (key === null || key === undefined) return null
  const bytes = Buffer.from(key.hex, 'hex')
  switch (key.type) {
    case 'ED25519':
      return { kind: 'ed25519', publicKey: bytes }
    case 'ECDSA_SECP256K1':
      return { kind: 'ecdsa', publicKey: bytes }
    case 'ProtobufEncoded':
      return readHederaKey(bytes)
    default:
      return { kind: 'unsupported' }
  }
}
