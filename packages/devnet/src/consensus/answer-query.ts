// The free queries that SDKs make around a transfer: receipt, record, balance, account info. Their real price is not
// asked for: a cost query is answered with zero, so that no payment follows.

import { proto } from '@hiero-ledger/proto'
import Long from 'long'
import { toProtoKey } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import { entityId, entityNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import {
  formatTransactionId,
  secondsToNs,
  type TransactionId,
  type TransactionRecord,
} from '../ledger/records.ts'
import { resolveAccount } from './resolve-account.ts'
import { readAccount, type Status, statusNumber } from './signed-transfer.ts'
import type { Knowledge, TransferService } from './transfer-service.ts'

/** How long the rate in a receipt holds: the network sets it hourly, seconds. */
const RATE_SECONDS = 3_600

/** What queries read. */
export type QueryContext = { ledger: Ledger; transfers: TransferService }

/** `getTransactionReceipts`. */
export async function answerReceipt(
  context: QueryContext,
  query: proto.IQuery,
): Promise<proto.IResponse> {
  const known = await knowledge(context, query.transactionGetReceipt?.transactionID)
  if (known.kind === 'unknown') {
    return { transactionGetReceipt: { header: header('RECEIPT_NOT_FOUND') } }
  }
  const status = known.kind === 'pending' ? 'UNKNOWN' : known.record.result
  return {
    transactionGetReceipt: { header: header('OK'), receipt: receipt(context.ledger, status) },
  }
}

/** `getTxRecordByTxID`. */
export async function answerRecord(
  context: QueryContext,
  query: proto.IQuery,
): Promise<proto.IResponse> {
  const asked = query.transactionGetRecord
  if (isCostQuestion(asked?.header)) return { transactionGetRecord: { header: cost() } }
  const known = await knowledge(context, asked?.transactionID)
  if (known.kind !== 'handled') {
    return { transactionGetRecord: { header: header('RECORD_NOT_FOUND') } }
  }
  return {
    transactionGetRecord: {
      header: header('OK'),
      transactionRecord: toProtoRecord(context.ledger, known.record),
    },
  }
}

/** `cryptoGetBalance`. */
export async function answerBalance(
  context: QueryContext,
  query: proto.IQuery,
): Promise<proto.IResponse> {
  const asked = query.cryptogetAccountBalance
  const entity = find(context.ledger, asked?.accountID ?? asked?.contractID)
  if (entity === undefined) {
    return { cryptogetAccountBalance: { header: header('INVALID_ACCOUNT_ID') } }
  }
  const [balance = 0n] = await context.ledger.evm.balances([entity.address])
  return {
    cryptogetAccountBalance: {
      header: header('OK'),
      accountID: accountId(entity.number),
      balance: Long.fromString(balance.toString(), true),
    },
  }
}

/** `getAccountInfo`. */
export async function answerInfo(
  context: QueryContext,
  query: proto.IQuery,
): Promise<proto.IResponse> {
  const asked = query.cryptoGetInfo
  if (isCostQuestion(asked?.header)) return { cryptoGetInfo: { header: cost() } }
  const entity = find(context.ledger, asked?.accountID)
  if (entity === undefined) return { cryptoGetInfo: { header: header('INVALID_ACCOUNT_ID') } }
  const [balance = 0n] = await context.ledger.evm.balances([entity.address])
  return {
    cryptoGetInfo: {
      header: header('OK'),
      accountInfo: {
        accountID: accountId(entity.number),
        contractAccountID: entity.address.slice(2),
        key: entity.key === null ? { keyList: { keys: [] } } : toProtoKey(entity.key),
        balance: Long.fromString(balance.toString(), true),
        memo: entity.memo,
        expirationTime: { seconds: Long.fromNumber(4_102_444_800), nanos: 0 },
        autoRenewPeriod: { seconds: Long.fromNumber(7_776_000) },
      },
    },
  }
}

function find(
  ledger: Ledger,
  id: proto.IAccountID | proto.IContractID | null | undefined,
): Entity | undefined {
  if (id == null) return undefined
  const reference =
    'contractNum' in id && id.contractNum != null
      ? ({ kind: 'number', number: Number(id.contractNum) } as const)
      : readAccount(id)
  if (reference === undefined) return undefined
  const resolved = resolveAccount(ledger.accounts, reference)
  return resolved.kind === 'entity' ? resolved.entity : undefined
}

async function knowledge(
  context: QueryContext,
  id: proto.ITransactionID | null | undefined,
): Promise<Knowledge> {
  const account = readAccount(id?.accountID)
  if (id?.transactionValidStart == null || account?.kind !== 'number') return { kind: 'unknown' }
  const { seconds, nanos } = id.transactionValidStart
  const validStartNs = secondsToNs(BigInt(String(seconds ?? 0))) + BigInt(nanos ?? 0)
  const payer = entityId(account.number)
  const transactionId: TransactionId = { account: payer, validStartNs, scheduled: false, nonce: 0 }
  return context.transfers.lookup(formatTransactionId(transactionId))
}

function isCostQuestion(asked: proto.IQueryHeader | null | undefined): boolean {
  return asked?.responseType === proto.ResponseType.COST_ANSWER
}

function header(status: Status): proto.IResponseHeader {
  return {
    nodeTransactionPrecheckCode: statusNumber(status),
    responseType: proto.ResponseType.ANSWER_ONLY,
    cost: Long.ZERO,
  }
}

function cost(): proto.IResponseHeader {
  return { ...header('OK'), responseType: proto.ResponseType.COST_ANSWER }
}

function receipt(ledger: Ledger, result: string): proto.ITransactionReceipt {
  const { hbar, cents } = ledger.settings.exchangeRate
  const rate = {
    hbarEquiv: hbar,
    centEquiv: cents,
    expirationTime: { seconds: Long.fromNumber(ledger.clock.nowSeconds() + RATE_SECONDS) },
  }
  // Both rates or none: SDKs stumble over one alone.
  return {
    status: statusNumber(result as Status),
    exchangeRate: { currentRate: rate, nextRate: rate },
  }
}

function toProtoRecord(ledger: Ledger, record: TransactionRecord): proto.ITransactionRecord {
  return {
    receipt: receipt(ledger, record.result),
    transactionHash: record.hash,
    consensusTimestamp: toProtoTimestamp(record.consensusNs),
    transactionID: {
      accountID: accountId(entityNumber(record.id.account) ?? 0),
      transactionValidStart: toProtoTimestamp(record.id.validStartNs),
    },
    memo: Buffer.from(record.memo).toString('utf8'),
    transactionFee: Long.fromString(record.chargedFeeTinybar.toString(), true),
    transferList: {
      accountAmounts: (record.transfers ?? []).map(({ account, amountTinybar, isApproval }) => ({
        accountID: accountId(entityNumber(account) ?? 0),
        amount: Long.fromString(amountTinybar.toString()),
        isApproval,
      })),
    },
  }
}

function toProtoTimestamp(nanoseconds: bigint): proto.ITimestamp {
  return {
    seconds: Long.fromString((nanoseconds / 1_000_000_000n).toString()),
    nanos: Number(nanoseconds % 1_000_000_000n),
  }
}

function accountId(number: number): proto.IAccountID {
  return { shardNum: Long.ZERO, realmNum: Long.ZERO, accountNum: Long.fromNumber(number) }
}
