// Transactions that wait: for the signatures that they lack, or for their time. What runs code waits in the schedule service
// alone (ledger/scheduler.ts).

import { hash } from 'node:crypto'
import { proto } from '@hiero-ledger/proto'
import { fromProtoKeys, isGenuine, isSignedBy } from '../ledger/account-key.ts'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { secondsToNs } from '../ledger/records.ts'
import { readContent, type Status, toBigInt } from '../ledger/signed-transaction.ts'
import type { WaitingTransaction } from '../ledger/waiting-transaction.ts'
import type { Plan, PlanRequest } from './plan.ts'
import { isMemoTooLong, precheckContent } from './precheck-transaction.ts'
import { runsCode } from './read-evm-transaction.ts'
import { findLivingAccount } from './resolve-account.ts'

/** Default and longest wait of a scheduled transaction, seconds (ledger.schedule.txExpiryTimeSecs, scheduling.maxExpirationFutureSeconds). */
const WAIT_SECONDS = 1_800n
const WAIT_SECONDS_MAX = 5_356_800n

/** The plan of a ScheduleCreate, or why consensus refuses it. */
export function planScheduleCreate(
  ledger: Ledger,
  message: proto.IScheduleCreateTransactionBody,
  { transaction, payer: creator }: PlanRequest,
): Status | Plan {
  const { content: _creation, signed, ...rest } = transaction
  const scheduled = message.scheduledTransactionBody
  const content = scheduled == null ? 'INVALID_TRANSACTION' : readContent(scheduled)
  if (scheduled == null || typeof content === 'string') return content as Status
  if (runsCode(content)) return 'NOT_SUPPORTED'
  if (content.kind.startsWith('schedule')) return 'SCHEDULED_TRANSACTION_NOT_IN_WHITELIST'
  const form = precheckContent(content)
  if (form !== 'OK') return form
  const memo = message.memo ?? ''
  if (isMemoTooLong(memo)) return 'MEMO_TOO_LONG'
  const payer =
    message.payerAccountID == null
      ? creator
      : findLivingAccount(ledger.accounts, message.payerAccountID)
  if (payer === undefined) return 'INVALID_SCHEDULE_PAYER_ID'
  const adminKey = message.adminKey == null ? null : fromProtoKeys(message.adminKey)
  if (adminKey === undefined) return 'BAD_ENCODING'
  if (adminKey !== null && !isSignedBy(adminKey, transaction.signed)) return 'INVALID_SIGNATURE'
  const nowNs = secondsToNs(ledger.clock.nowSeconds())
  const expiryNs =
    message.expirationTime == null
      ? nowNs + secondsToNs(WAIT_SECONDS)
      : secondsToNs(toBigInt(message.expirationTime.seconds))
  if (expiryNs <= nowNs) return 'SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME'
  if (expiryNs > nowNs + secondsToNs(WAIT_SECONDS_MAX)) {
    return 'SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE'
  }
  const body = proto.SchedulableTransactionBody.encode(scheduled).finish()
  const waitsForExpiry = message.waitForExpiry === true
  if (hasTwin(ledger, { body, payer, memo, waitsForExpiry }, nowNs)) {
    return 'IDENTICAL_SCHEDULE_ALREADY_CREATED'
  }
  return {
    moves: [],
    apply(createdNs) {
      const number = ledger.accounts.takeNumber()
      ledger.waiting.byNumber.set(number, {
        number,
        memo,
        adminKey,
        creator,
        payer,
        body,
        waitsForExpiry,
        createdNs,
        expiryNs,
        transaction: {
          ...rest,
          signed,
          payerNumber: payer.number,
          memo: scheduled.memo ?? '',
          maxFeeTinybar: toBigInt(scheduled.transactionFee),
          hash: hash('sha384', Buffer.concat([body, Buffer.from(String(number))]), 'buffer'),
        },
        signatures: signed
          .filter(isGenuine)
          .map((signature) => ({ consensusNs: createdNs, signature })),
        executedNs: undefined,
        isOver: false,
      })
      return { moves: [], created: { scheduleID: number } }
    },
  }
}

/** Whether the same already waits. */
function hasTwin(
  ledger: Ledger,
  wanted: Pick<WaitingTransaction, 'body' | 'memo' | 'payer' | 'waitsForExpiry'>,
  nowNs: bigint,
): boolean {
  return [...ledger.waiting.byNumber.values()].some(
    (other) =>
      Buffer.compare(other.body, wanted.body) === 0 &&
      other.payer === wanted.payer &&
      other.memo === wanted.memo &&
      other.waitsForExpiry === wanted.waitsForExpiry &&
      other.executedNs === undefined &&
      other.expiryNs > nowNs,
  )
}

/** The plan of a ScheduleSign, or why consensus refuses it. */
export async function planScheduleSign(
  ledger: Ledger,
  { scheduleID }: proto.IScheduleSignTransactionBody,
  { transaction, findNeeded }: PlanRequest,
): Promise<Status | Plan> {
  const waiting = ledger.waiting.byNumber.get(Number(toBigInt(scheduleID?.scheduleNum)))
  if (waiting === undefined) return 'INVALID_SCHEDULE_ID'
  if (waiting.executedNs !== undefined) return 'SCHEDULE_ALREADY_EXECUTED'
  if (waiting.expiryNs <= secondsToNs(ledger.clock.nowSeconds())) return 'INVALID_SCHEDULE_ID'
  const known = waiting.signatures.map(({ signature }) => signature.publicKeyPrefix.toString('hex'))
  const unknown = transaction.signed.filter(
    (signature) =>
      isGenuine(signature) && !known.includes(signature.publicKeyPrefix.toString('hex')),
  )
  const fresh = await findNeeded(waiting, unknown)
  if (fresh.length === 0) return 'NO_NEW_VALID_SIGNATURES'
  return {
    moves: [],
    apply(consensusNs) {
      waiting.signatures.push(...fresh.map((signature) => ({ consensusNs, signature })))
      waiting.transaction.signed = [...waiting.transaction.signed, ...fresh]
      return { moves: [], entityId: entityId(waiting.number), signedSchedule: waiting.number }
    },
  }
}
