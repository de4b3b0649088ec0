import { proto } from '@hiero-ledger/proto'
import type { FastifyInstance } from 'fastify'
import Long from 'long'
import { hexToBytes } from 'viem'
import { entityId, entityNumber, longZeroAddress, longZeroNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp, secondsToNs } from '../ledger/records.ts'
import type { KnownSchedule, Scheduler } from '../ledger/scheduler.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import { invalidParameter, isVisible, isWithin, notFound, pageOf } from './mirror-query.ts'

const { ids, paging } = PARAMETERS

/** `/api/v1/schedules` and `/api/v1/schedules/{id}`. As on the network, nothing says that a schedule expired unexecuted. */
export function addScheduleRoutes(
  app: FastifyInstance,
  ledger: Ledger,
  scheduler: Pick<Scheduler, 'find' | 'all'>,
): void {
  const listed = { ...paging, 'account.id': ids, 'schedule.id': ids }
  addMirrorRoute(app, { path: 'schedules', parameters: listed }, ({ query, list }) => {
    const rows = scheduler.all().flatMap((address) => {
      const known = scheduler.find(address)
      const number = longZeroNumber(address) ?? 0
      if (known === undefined || !isVisible(ledger, known.createdNs)) return []
      const creator = ledger.accounts.byAddress(known.creator)?.number ?? 0
      const isWanted =
        isWithin(query['schedule.id'], BigInt(number)) &&
        isWithin(query['account.id'], BigInt(creator))
      return isWanted ? [{ number, known }] : []
    })
    const { page, links } = pageOf(list, rows, {
      name: 'schedule.id',
      order: 'asc',
      keyOf: ({ number }) => entityId(number),
    })
    return { schedules: page.map((row) => toMirrorSchedule(ledger, row)), links }
  })

  addMirrorRoute(app, { path: 'schedules/:id', parameters: {} }, ({ params }) => {
    const number = entityNumber(params.id)
    if (number === undefined) throw invalidParameter('scheduleId')
    const known = scheduler.find(longZeroAddress(number))
    if (known === undefined || !isVisible(ledger, known.createdNs)) throw notFound()
    return toMirrorSchedule(ledger, { number, known })
  })
}

function toMirrorSchedule(
  ledger: Ledger,
  { number, known }: { number: number; known: KnownSchedule },
): { [name: string]: unknown } {
  const { deletedNs, executedNs } = known
  return {
    admin_key: null,
    consensus_timestamp: formatTimestamp(known.createdNs),
    creator_account_id: ledger.accounts.idOf(known.creator),
    deleted: deletedNs !== undefined && isVisible(ledger, deletedNs),
    executed_timestamp:
      executedNs !== undefined && isVisible(ledger, executedNs)
        ? formatTimestamp(executedNs)
        : null,
    expiration_time: formatTimestamp(secondsToNs(known.schedule.expirySecond)),
    memo: '',
    payer_account_id: ledger.accounts.idOf(known.schedule.payer),
    schedule_id: entityId(number),
    signatures: [],
    transaction_body: Buffer.from(scheduledBody(ledger, known)).toString('base64'),
    wait_for_expiry: true,
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
