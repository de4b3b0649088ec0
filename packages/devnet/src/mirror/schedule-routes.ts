import { proto } from '@hiero-ledger/proto'
import type { FastifyInstance } from 'fastify'
import Long from 'long'
import { type Address, hexToBytes } from 'viem'
import { toMirrorKey } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import { entityId, entityNumber, longZeroAddress, longZeroNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp, secondsToNs } from '../ledger/records.ts'
import type { KnownSchedule, Scheduler } from '../ledger/scheduler.ts'
import type { WaitingTransaction } from '../ledger/waiting-transaction.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import { cutPage, invalidParameter, isVisible, isWithin, notFound } from './mirror-query.ts'

const { ids, paging } = PARAMETERS

/** `/api/v1/schedules` and `/api/v1/schedules/{id}`. As on the network, nothing says that a schedule expired unexecuted. */
export function addScheduleRoutes(
  app: FastifyInstance,
  ledger: Ledger,
  scheduler: Pick<Scheduler, 'find' | 'all'>,
): void {
  const visible = (): Row[] =>
    [
      ...scheduler.all().flatMap((address) => callRow(ledger, scheduler, address)),
      ...[...ledger.waiting.byNumber.values()].map(waitingRow),
    ]
      .filter(({ createdNs }) => isVisible(ledger, createdNs))
      .toSorted((a, b) => a.number - b.number)

  const listed = { ...paging, 'account.id': ids, 'schedule.id': ids }
  addMirrorRoute(app, { path: 'schedules', parameters: listed }, ({ query, list }) => {
    const rows = visible().filter(
      ({ creator, number }) =>
        isWithin(query['schedule.id'], BigInt(number)) &&
        isWithin(query['account.id'], BigInt(creator?.number ?? 0)),
    )
    const { page, links } = cutPage(list, rows, {
      name: 'schedule.id',
      order: 'asc',
      pageKey: ({ number }) => entityId(number),
    })
    return { schedules: page.map((row) => toMirrorSchedule(ledger, row)), links }
  })

  addMirrorRoute(app, { path: 'schedules/:id', parameters: {} }, ({ params }) => {
    const number = entityNumber(params.id)
    if (number === undefined) throw invalidParameter('scheduleId')
    const waiting = ledger.waiting.byNumber.get(number)
    const [row] = [
      waiting ? waitingRow(waiting) : callRow(ledger, scheduler, longZeroAddress(number)),
    ].flat()
    if (row === undefined || !isVisible(ledger, row.createdNs)) throw notFound()
    return toMirrorSchedule(ledger, row)
  })
}

/** What the two kinds of schedules have: calls that a contract scheduled, and native transactions. */
type Row = {
  number: number
  createdNs: bigint
  deletedNs?: bigint | undefined
  executedNs: bigint | undefined
  expiryNs: bigint
  creator: Entity | undefined
  payerId: string | null
  body: Uint8Array
  waitsForExpiry: boolean
  waiting?: WaitingTransaction
}

function callRow(
  ledger: Ledger,
  scheduler: Pick<Scheduler, 'find'>,
  address: Address,
): Row | readonly [] {
  const known = scheduler.find(address)
  if (known === undefined) return []
  const { createdNs, deletedNs, executedNs, schedule } = known
  return {
    number: longZeroNumber(address) ?? 0,
    createdNs,
    deletedNs,
    executedNs,
    expiryNs: secondsToNs(schedule.expirySecond),
    creator: ledger.accounts.byAddress(known.creator),
    payerId: ledger.accounts.findId(schedule.payer),
    body: scheduledBody(ledger, known),
    waitsForExpiry: true,
  }
}

const waitingRow = (waiting: WaitingTransaction): Row => ({
  ...waiting,
  payerId: waiting.payer.id,
  waiting,
})

function toMirrorSchedule(ledger: Ledger, row: Row): { [name: string]: unknown } {
  const { deletedNs, executedNs, waiting } = row
  const isSeen = (ns: bigint | undefined): ns is bigint => ns !== undefined && isVisible(ledger, ns)
  return {
    admin_key: toMirrorKey(waiting?.adminKey ?? null),
    consensus_timestamp: formatTimestamp(row.createdNs),
    creator_account_id: row.creator?.id ?? null,
    deleted: isSeen(deletedNs),
    executed_timestamp: isSeen(executedNs) ? formatTimestamp(executedNs) : null,
    expiration_time: formatTimestamp(row.expiryNs),
    memo: waiting?.memo ?? '',
    payer_account_id: row.payerId,
    schedule_id: entityId(row.number),
    signatures: (waiting?.signatures ?? [])
      .filter(({ consensusNs }) => isVisible(ledger, consensusNs))
      .map(({ consensusNs, signature: { kind, publicKeyPrefix, signature } }) => ({
        consensus_timestamp: formatTimestamp(consensusNs),
        public_key_prefix: publicKeyPrefix.toString('base64'),
        signature: Buffer.from(signature).toString('base64'),
        type: kind,
      })),
    transaction_body: Buffer.from(row.body).toString('base64'),
    wait_for_expiry: row.waitsForExpiry,
  }
}

function scheduledBody(ledger: Ledger, { schedule }: KnownSchedule): Uint8Array {
  const target = ledger.accounts.byAddress(schedule.to)
  return proto.SchedulableTransactionBody.encode({
    contractCall: {
      contractID: { contractNum: Long.fromNumber(target?.number ?? 0) },
      gas: Long.fromString(schedule.gasLimit.toString()),
      amount: Long.fromString(schedule.valueTinybar.toString()),
      functionParameters: hexToBytes(schedule.callData),
    },
  }).finish()
}
