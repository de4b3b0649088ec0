import { proto } from '@hiero-ledger/proto'
import type { FastifyInstance } from 'fastify'
import Long from 'long'
import { hexToBytes } from 'viem'
import { entityId, entityNumber, longZeroAddress } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp, secondsToNs } from '../ledger/records.ts'
import type { KnownSchedule, Scheduler } from '../ledger/scheduler.ts'
import { addMirrorRoute } from './mirror-parameters.ts'
import { invalidParameter, isVisible, notFound } from './mirror-query.ts'

/** `/api/v1/schedules/{id}`. As on the network, nothing says that a schedule expired unexecuted. */
export function addScheduleRoutes(
  app: FastifyInstance,
  ledger: Ledger,
  scheduler: Pick<Scheduler, 'find'>,
): void {
  addMirrorRoute(app, { path: 'schedules/:id', parameters: {} }, ({ params }) => {
    const number = entityNumber(params.id)
    if (number === undefined) throw invalidParameter('scheduleId')
    const known = scheduler.find(longZeroAddress(number))
    if (known === undefined || !isVisible(ledger, known.createdNs)) throw notFound()
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
  })
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
