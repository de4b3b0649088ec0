/**
 * Looks a payment up on an EVM chain (X8, X10). The nonce's state says whether it can still arrive; the events of the
 * transaction that used it say whether the money came to us. A reverted attempt decides nothing: anyone may submit the
 * same authorization again while it is valid.
 */
import type { VerifiedPayment } from '../../payment.ts'
import { type LedgerFinding, NEVER_AFTER_SECONDS } from '../payment-scheme.ts'
import type { EvmBlock, EvmLedger, EvmLog } from './evm-ledger.ts'
import {
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  hexOfBytes,
  TRANSFER_TOPIC,
  uintWord,
} from './evm-words.ts'

/**
 * How much longer than requested a payment may be valid (X12): its nonce must be remembered and searched for that long.
 */
export const VALIDITY_SLACK_SECONDS = 600

/** Longest `maxTimeoutSeconds` of a requirement; together with the slack it bounds how far back events are searched. */
export const EVM_TIMEOUT_SECONDS_MAX = 900

/** How far our clock may differ from the chain's when the earliest possible block of a payment is estimated. */
const CLOCK_SKEW_SECONDS = 60

/** A payment cannot have been used before we first saw it, at most this long before it expires. */
const LOOK_BACK_SECONDS = EVM_TIMEOUT_SECONDS_MAX + VALIDITY_SLACK_SECONDS + CLOCK_SKEW_SECONDS

/** Blocks per call; public nodes of X Layer refuse wider ranges. */
const LOG_BLOCKS_MAX = 100n

/** Ranges read per search: 1,560 s of blocks at four per second. */
const RANGES_MAX = 64

/** Whether a payment landed, failed, never arrived or is not known yet. Throws LedgerUnavailable. */
export async function findEvmPayment(
  payment: VerifiedPayment,
  ledger: EvmLedger,
): Promise<LedgerFinding> {
  const latest = await ledger.block()
  const isOver = latest.timestampSeconds > payment.validUntilSeconds + NEVER_AFTER_SECONDS
  // State and time come from one block, so a lagging node cannot show an unused nonce at a later time.
  if (!(await ledger.isAuthorizationUsed(payment, latest.number))) {
    return { kind: isOver ? 'never' : 'unknown' }
  }
  const use = await findUse({ payment, latest, ledger })
  if (use === undefined) {
    return isOver ? { kind: 'failed', result: 'AUTHORIZATION_USED_EARLIER' } : { kind: 'unknown' }
  }
  if (use.topics[0] !== AUTHORIZATION_USED_TOPIC) {
    return { kind: 'failed', result: 'AUTHORIZATION_CANCELED' }
  }
  const receipt = await ledger.receipt(use.transaction)
  if (receipt === undefined) return { kind: 'unknown' }
  if (!receipt.isSuccess || !isPaidBy(receipt.logs, payment)) {
    return { kind: 'failed', result: 'OTHER_TRANSFER' }
  }
  const { timestampSeconds } = await ledger.block(receipt.blockNumber)
  return { kind: 'landed', transaction: use.transaction, consensusSeconds: timestampSeconds }
}

type Search = {
  readonly payment: VerifiedPayment
  readonly latest: EvmBlock
  readonly ledger: EvmLedger
}

/** The event that ended the nonce, searched backwards from the last block that can hold it. */
async function findUse(search: Search): Promise<EvmLog | undefined> {
  const { ledger, payment } = search
  const earliestSeconds = Math.max(
    payment.validFromSeconds,
    payment.validUntilSeconds - LOOK_BACK_SECONDS,
  )
  let toBlock = await lastBlockBy(search)
  for (let range = 0; range < RANGES_MAX && toBlock >= 0n; range += 1) {
    const fromBlock: bigint = toBlock >= LOG_BLOCKS_MAX ? toBlock - LOG_BLOCKS_MAX + 1n : 0n
    const logs = await ledger.authorizationLogs(payment, { fromBlock, toBlock })
    if (logs[0] !== undefined) return logs[0]
    if ((await ledger.block(fromBlock)).timestampSeconds < earliestSeconds) return undefined
    toBlock = fromBlock - 1n
  }
  return undefined
}

/** A block at or shortly after expiry, or the latest block if expiry is still to come. */
async function lastBlockBy({ latest, ledger, payment }: Search): Promise<bigint> {
  const isPast = async (number: bigint): Promise<boolean> =>
    (await ledger.block(number)).timestampSeconds > payment.validUntilSeconds
  if (latest.timestampSeconds <= payment.validUntilSeconds) return latest.number
  let high = latest.number
  let low = high
  for (let step = LOG_BLOCKS_MAX; low > 0n; step *= 2n) {
    low = low > step ? low - step : 0n
    if (!(await isPast(low))) break
    high = low
  }
  while (high - low > LOG_BLOCKS_MAX / 2n) {
    const middle = (low + high) / 2n
    if (await isPast(middle)) high = middle
    else low = middle
  }
  return high
}

/**
 * Whether a transaction's logs show that an authorization paid exactly this. In every known token, the transfer is the
 * event right after `AuthorizationUsed`. A transaction may use several authorizations from one payer, and the transfer of
 * another must not count for this one.
 */
export function isPaidBy(
  logs: readonly EvmLog[],
  payment: Pick<VerifiedPayment, 'asset' | 'payer' | 'nonce' | 'payTo' | 'amount'>,
): boolean {
  const payer = addressTopic(payment.payer)
  const ofToken = logs
    .filter((log) => log.address === payment.asset)
    .toSorted((left, right) => left.logIndex - right.logIndex)
  const used = ofToken.findIndex(
    ({ topics }) =>
      topics[0] === AUTHORIZATION_USED_TOPIC && topics[1] === payer && topics[2] === payment.nonce,
  )
  const transfer = used < 0 ? undefined : ofToken[used + 1]
  return (
    transfer?.topics[0] === TRANSFER_TOPIC &&
    transfer.topics[1] === payer &&
    transfer.topics[2] === addressTopic(payment.payTo) &&
    transfer.data === hexOfBytes(uintWord(payment.amount))
  )
}
