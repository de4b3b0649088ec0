import { scheduleServiceAbi } from '@tallystick/contracts'
import { type Address, parseEventLogs } from 'viem'
import { lowerAddress } from './entity-id.ts'
import type { EvmTransaction } from './evm-transaction.ts'
import { SCHEDULE_SERVICE_ADDRESS } from './schedule-service.ts'

/** When a schedule came and went, consensus nanoseconds. */
export type ScheduleLife = {
  createdNs: bigint
  /** Who sent the transaction that created it; the contract itself for one that a scheduled call created. */
  creator: Address
  deletedNs: bigint | undefined
}

/** The lives of all schedules, read from the schedule service's own events. */
export type ScheduleLives = {
  /** Takes in a transaction; true when it created or deleted a schedule. */
  read(transaction: EvmTransaction): boolean
  of(schedule: Address): ScheduleLife | undefined
}

/** No lives yet. */
export function createScheduleLives(): ScheduleLives {
  const lives = new Map<Address, ScheduleLife>()
  return {
    read(transaction) {
      const own = transaction.receipt.logs.filter(
        ({ address }) => address.toLowerCase() === SCHEDULE_SERVICE_ADDRESS,
      )
      if (own.length === 0) return false
      for (const event of parseEventLogs({ abi: scheduleServiceAbi, logs: own as never })) {
        if (event.eventName === 'ScheduleCreated') {
          lives.set(lowerAddress(event.args.schedule), {
            createdNs: transaction.consensusNs,
            creator: transaction.from,
            deletedNs: undefined,
          })
        }
        if (event.eventName === 'ScheduleDeleted') {
          const life = lives.get(lowerAddress(event.args.schedule))
          if (life !== undefined) life.deletedNs = transaction.consensusNs
        }
      }
      return true
    },
    of: (schedule) => lives.get(schedule),
  }
}
