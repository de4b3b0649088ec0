// The queries that SDKs make around a transfer: receipt, record, balance, account info. They are free here: a cost query
// answers zero, so no payment follows.

import { proto } from '@hiero-ledger/proto'
import Long from 'long'
import { hexToBytes } from 'viem'
import { toProtoKey } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import { completeTransfers } from '../ledger/complete-transfers.ts'
import { entityId, entityNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { RATE_SECONDS } from '../ledger/network.ts'
import { computeBloom, networkLogs } from '../ledger/network-logs.ts'
import { formatTransactionId, secondsToNs, type TransactionRecord } from '../ledger/records.ts'
import { readAccount, type Status, statusNumber } from '../ledger/signed-transaction.ts'
import { RUNNING_HASH_VERSION } from '../ledger/topic.ts'
import type { WaitingTransaction } from '../ledger/waiting-transaction.ts'
import { findAccount } from './resolve-account.ts'
import type { Knowledge, TransactionService } from './transaction-service.ts'

type QueryContext = { ledger: Ledger; transfers: TransactionService }

/** An answer without its header; `status` if it is not `OK`. */
type Body = { status?: Status; [field: string]: unknown }

/** Where the answer's field is named otherwise than the question's. */
const RESPONSE_FIELDS: { readonly [field: string]: string } = {
  contractGetBytecode: 'contractGetBytecodeResponse',
}

/** Expiry in the year 2100, since nothing expires here, and the network's default renewal of 90 days. */
export const NEVER = {
  expirationTime: { seconds: Long.fromNumber(4_102_444_800), nanos: 0 },
  autoRenewPeriod: { seconds: Long.fromNumber(7_776_000) },
}

/** A query of one kind: bytes in, bytes out. */
export function query<Name extends keyof proto.IQuery>(
  field: Name,
  answer: (context: QueryContext, question: NonNullable<proto.IQuery[Name]>) => Promise<Body>,
) {
  return async (context: QueryContext, request: Buffer): Promise<Uint8Array> => {
    const question: NonNullable<proto.IQuery[Name]> = proto.Query.decode(request)[field] ?? {}
    const isCostQuestion = question.header?.responseType === proto.ResponseType.COST_ANSWER
    const { status = 'OK', ...body } = isCostQuestion ? {} : await answer(context, question)
    const header = {
      nodeTransactionPrecheckCode: statusNumber(status),
      responseType: question.header?.responseType ?? proto.ResponseType.ANSWER_ONLY,
      cost: Long.ZERO,
    }
    const answered = { [RESPONSE_FIELDS[field] ?? field]: { header, ...body } }
    return proto.Response.encode(answered).finish()
  }
}

/** The queries by service and name: bytes in, bytes out. */
export const QUERIES = {
  'CryptoService/getTransactionReceipts': query(
    'transactionGetReceipt',
    async (context, { transactionID }) => {
      const known = await knowledge(context, transactionID)
      if (known.kind === 'unknown') return { status: 'RECEIPT_NOT_FOUND' }
      const record = known.kind === 'handled' ? known.record : { result: 'UNKNOWN' }
      return { receipt: receipt(context.ledger, record) }
    },
  ),
  'CryptoService/getTxRecordByTxID': query(
    'transactionGetRecord',
    async (context, { transactionID }) => {
      const known = await knowledge(context, transactionID)
      if (known.kind !== 'handled') return { status: 'RECORD_NOT_FOUND' }
      await completeTransfers(context.ledger, [known.record])
      return { transactionRecord: toProtoRecord(context.ledger, known.record) }
    },
  ),
  'CryptoService/cryptoGetBalance': query(
    'cryptogetAccountBalance',
    async ({ ledger }, requested) => {
      const entity = findEntity(ledger, requested.accountID ?? requested.contractID)
      if (entity === undefined) return { status: 'INVALID_ACCOUNT_ID' }
      if (entity.isDeleted) return { status: 'ACCOUNT_DELETED' }
      const tokenBalances = ledger.tokens.byAccount(entity).map(({ token, relation }) => ({
        tokenId: { tokenNum: Long.fromNumber(token.number) },
        balance: Long.fromString(relation.balance.toString(), true),
        decimals: token.decimals,
      }))
      const balance = await readBalance(ledger, entity)
      return { accountID: accountId(entity.number), balance, tokenBalances }
    },
  ),
  'CryptoService/getAccountInfo': query('cryptoGetInfo', async ({ ledger }, requests) => {
    const entity = findEntity(ledger, requests.accountID)
    if (entity === undefined) return { status: 'INVALID_ACCOUNT_ID' }
    if (entity.isDeleted) return { status: 'ACCOUNT_DELETED' }
    const accountInfo = {
      accountID: accountId(entity.number),
      contractAccountID: entity.address.slice(2),
      key: entity.key === null ? { keyList: { keys: [] } } : toProtoKey(entity.key),
      balance: await readBalance(ledger, entity),
      memo: entity.memo,
      maxAutomaticTokenAssociations: entity.maxAutoAssociations,
      ...NEVER,
    }
    return { accountInfo }
  }),
}

export async function readBalance(ledger: Ledger, { address }: Entity): Promise<Long> {
  const [balance = 0n] = await ledger.evm.balances([address])
  return Long.fromString(balance.toString(), true)
}

export const findEntity = (
  ledger: Ledger,
  id: proto.IAccountID | proto.IContractID | null | undefined,
): Entity | undefined =>
  id != null && 'contractNum' in id && id.contractNum != null
    ? ledger.accounts.byNumber(Number(id.contractNum))
    : findAccount(ledger.accounts, id)

async function knowledge(
  context: QueryContext,
  id: proto.ITransactionID | null | undefined,
): Promise<Knowledge> {
  const account = readAccount(id?.accountID)
  if (id?.transactionValidStart == null || account?.kind !== 'number') return { kind: 'unknown' }
  const { seconds, nanos } = id.transactionValidStart
  const validStartNs = secondsToNs(BigInt(String(seconds ?? 0))) + BigInt(nanos ?? 0)
  const transactionId = { account: entityId(account.number), validStartNs }
  if (id.scheduled === true) {
    const records = context.ledger.records.byTransactionId(formatTransactionId(transactionId))
    const record = records.find(({ isScheduled }) => isScheduled)
    return record === undefined ? { kind: 'unknown' } : { kind: 'handled', record }
  }
  return context.transfers.lookup(formatTransactionId(transactionId))
}

function receipt(
  ledger: Ledger,
  record: Pick<TransactionRecord, 'created' | 'result' | 'signedSchedule' | 'topicMessage'>,
): proto.ITransactionReceipt {
  const scheduled = ledger.waiting.byNumber.get(
    record.created?.scheduleID ?? record.signedSchedule ?? 0,
  )
  const { hbar, cents } = ledger.settings.exchangeRate
  const rate = {
    hbarEquiv: hbar,
    centEquiv: cents,
    expirationTime: { seconds: Long.fromNumber(ledger.clock.nowSeconds() + RATE_SECONDS) },
  }
  // Both rates or neither: SDKs fail on a single one.
  return {
    status: statusNumber(record.result as Status),
    ...createdId(record.created),
    ...(scheduled && { scheduledTransactionID: scheduledId(scheduled) }),
    ...(record.topicMessage && {
      topicSequenceNumber: Long.fromNumber(record.topicMessage.sequence),
      topicRunningHash: record.topicMessage.runningHash,
      topicRunningHashVersion: Long.fromNumber(RUNNING_HASH_VERSION),
    }),
    exchangeRate: { currentRate: rate, nextRate: rate },
  }
}

function toProtoRecord(ledger: Ledger, record: TransactionRecord): proto.ITransactionRecord {
  return {
    receipt: receipt(ledger, record),
    transactionHash: record.hash,
    consensusTimestamp: toProtoTimestamp(record.consensusNs),
    transactionID: {
      accountID: accountId(entityNumber(record.id.account) ?? 0),
      transactionValidStart: toProtoTimestamp(record.id.validStartNs),
      scheduled: record.isScheduled && record.evm === undefined,
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
    tokenTransferLists: tokenTransferLists(record),
    assessedCustomFees: (record.customFees ?? []).map(({ amount, collector, payers, token }) => ({
      amount: Long.fromString(amount.toString()),
      tokenId: token === undefined ? null : { tokenNum: Long.fromNumber(token) },
      feeCollectorAccountId: accountId(collector.number),
      effectivePayerAccountId: payers.map((payer) => accountId(payer.number)),
    })),
    ...contractResult(ledger, record),
  }
}

/** What an EVM transaction did, in the field that its kind has. */
function contractResult(ledger: Ledger, { entityId: id, evm, name }: TransactionRecord) {
  const transaction = ledger.transactions.byHash(evm?.hash ?? '')
  if (transaction === undefined || transaction.isSynthetic === true) return {}
  const { contractAddress, gasUsed } = transaction.receipt
  const logs = networkLogs(transaction)
  const result: proto.IContractFunctionResult = {
    contractID: contractId(entityNumber(id ?? '')),
    contractCallResult: hexToBytes(transaction.returned ?? '0x'),
    errorMessage: transaction.revertReason ?? '',
    bloom: hexToBytes(computeBloom(logs)),
    gasUsed: Long.fromString(BigInt(gasUsed).toString(), true),
    gas: Long.fromString(transaction.envelope.gas.toString(), true),
    functionParameters: hexToBytes(transaction.envelope.data),
    logInfo: logs.map((log) => ({
      contractID: contractId(entityNumber(ledger.idAt(log.address) ?? '')),
      bloom: hexToBytes(computeBloom([log])),
      topic: log.topics.map((topic) => hexToBytes(topic)),
      data: hexToBytes(log.data),
    })),
  }
  const isCreation = name === 'CONTRACTCREATEINSTANCE' || contractAddress != null
  return isCreation ? { contractCreateResult: result } : { contractCallResult: result }
}

function tokenTransferLists({
  tokenTransfers = [],
}: TransactionRecord): proto.ITokenTransferList[] {
  return [...Map.groupBy(tokenTransfers, ({ token }) => token)].map(([token, lines]) => ({
    token: { tokenNum: Long.fromNumber(entityNumber(token) ?? 0) },
    transfers: lines.map(({ account, amount, isApproval }) => ({
      accountID: accountId(entityNumber(account) ?? 0),
      amount: Long.fromString(amount.toString()),
      isApproval,
    })),
  }))
}

function createdId(created: TransactionRecord['created']): proto.ITransactionReceipt {
  if (created === undefined) return {}
  const { accountID, contractID, fileID, scheduleID, tokenID, topicID } = created
  return {
    ...(accountID !== undefined && { accountID: accountId(accountID) }),
    ...(contractID !== undefined && { contractID: contractId(contractID) }),
    ...(fileID !== undefined && { fileID: { fileNum: Long.fromNumber(fileID) } }),
    ...(scheduleID !== undefined && {
      scheduleID: { scheduleNum: Long.fromNumber(scheduleID) },
    }),
    ...(tokenID !== undefined && { tokenID: { tokenNum: Long.fromNumber(tokenID) } }),
    ...(topicID !== undefined && { topicID: { topicNum: Long.fromNumber(topicID) } }),
  }
}

export function scheduledId({ creator, transaction }: WaitingTransaction): proto.ITransactionID {
  return {
    accountID: accountId(creator.number),
    transactionValidStart: toProtoTimestamp(transaction.validStartNs),
    scheduled: true,
  }
}

export function toProtoTimestamp(nanoseconds: bigint): proto.ITimestamp {
  return {
    seconds: Long.fromString((nanoseconds / 1_000_000_000n).toString()),
    nanos: Number(nanoseconds % 1_000_000_000n),
  }
}

export function accountId(number: number): proto.IAccountID {
  return { shardNum: Long.ZERO, realmNum: Long.ZERO, accountNum: Long.fromNumber(number) }
}

export function contractId(number = 0): proto.IContractID {
  return { contractNum: Long.fromNumber(number) }
}
