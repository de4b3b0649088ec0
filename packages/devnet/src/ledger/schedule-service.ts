// The network's side of the schedule system contract: what is due, what became of it, and how the contract behaves.

import { scheduleServiceAbi, scheduleServiceRuntimeCode } from '@tallystick/contracts'
import {
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  parseEventLogs,
  zeroAddress,
} from 'viem'
import { lowerAddress } from './entity-id.ts'
import { TIMESTAMP_LAG_SECONDS_DEFAULT } from './evm.ts'
import { callAsNetwork } from './evm-transaction.ts'
import type { Ledger } from './ledger.ts'
import type { EvmTransaction } from './transaction-index.ts'

/** Address of the schedule system contract (HIP-755, HIP-1215). */
const SCHEDULE_SERVICE_ADDRESS: Address = '0x000000000000000000000000000000000000016b'

/** How the schedule service behaves; settings left out return to normal. */
export type ScheduleServiceSettings = {
  /** Response code of every `scheduleCall`, e.g. 370. */
  forcedCode?: number
  /** Gas that fits into one second; 1 makes every second busy. */
  gasPerSecond?: bigint
  /** Gas that `scheduleCall` takes; above 15 million every call runs out of gas. */
  createGas?: bigint
  /** Seconds by which block time trails consensus time (default 2). */
  timestampLagSeconds?: number
}

export type Schedule = {
  to: Address
  expirySecond: bigint
  payer: Address
  gasLimit: bigint
  valueTinybar: bigint
  callData: Hex
}

export type DueSchedule = { address: Address; schedule: Schedule }

const UINT256_MAX = 2n ** 256n - 1n

/** The network's calls to the contract. Callers hold the queue for those that change something. */
export function createScheduleService(ledger: Ledger) {
  const abi = scheduleServiceAbi

  async function read(data: Hex): Promise<Hex> {
    const call = { to: SCHEDULE_SERVICE_ADDRESS, data }
    return (await ledger.anvil.call('eth_call', [call, 'latest'])) as Hex
  }

  let current: ScheduleServiceSettings = {}
  let earliest: Promise<DueSchedule | undefined> | undefined

  async function readEarliest(): Promise<DueSchedule | undefined> {
    const functionName = 'nextDue'
    const data = await read(encodeFunctionData({ abi, functionName, args: [UINT256_MAX] }))
    const [address, schedule] = decodeFunctionResult({ abi, functionName, data })
    return address === zeroAddress ? undefined : { address: lowerAddress(address), schedule }
  }

  /** Applies settings. Without any, those of the last call stay, and what depends on the ledger's prices is recomputed. */
  async function configure(settings = current): Promise<void> {
    current = settings
    const lagSeconds = settings.timestampLagSeconds ?? TIMESTAMP_LAG_SECONDS_DEFAULT
    ledger.settings.timestampLagSeconds = lagSeconds
    const args = [
      BigInt(lagSeconds),
      settings.gasPerSecond ?? 0n,
      settings.createGas ?? ledger.settings.createGas,
      BigInt(settings.forcedCode ?? 0),
    ] as const
    const data = encodeFunctionData({ abi, functionName: 'configure', args })
    await callAsNetwork(ledger, SCHEDULE_SERVICE_ADDRESS, data)
  }

  return {
    /** Places the code of the contract. */
    async install(): Promise<void> {
      const code = [SCHEDULE_SERVICE_ADDRESS, scheduleServiceRuntimeCode]
      await ledger.anvil.call('anvil_setCode', code)
      await configure({})
    },
    configure,
    /** `ended` are old schedules for the contract to forget: anvil slows down with each slot in use. */
    async markExecuted(
      schedule: Address,
      { status, ended }: { status: number; ended: readonly Address[] },
    ): Promise<void> {
      const args = [schedule, status, ended] as const
      const data = encodeFunctionData({ abi, functionName: 'markExecutedAndForget', args })
      try {
        await callAsNetwork(ledger, SCHEDULE_SERVICE_ADDRESS, data)
      } finally {
        earliest = undefined
      }
    },
    /** The earliest pending schedule, cached because travel asks at every second. */
    async earliest(): Promise<DueSchedule | undefined> {
      earliest ??= readEarliest()
      const reading = earliest
      try {
        return await reading
      } catch (cause) {
        if (earliest === reading) earliest = undefined
        throw cause
      }
    },
    /** A transaction created or deleted a schedule. */
    changed(): void {
      earliest = undefined
    },
  }
}

/** A schedule, and when it was created and deleted, consensus nanoseconds. */
export type ScheduleLife = {
  schedule: Schedule
  createdNs: bigint
  /** Who sent the transaction that created it; for one created by a scheduled call, the contract itself. */
  creator: Address
  deletedNs: bigint | undefined
}

/** The lives of all schedules, read from the schedule service's own events. */
export function createScheduleLives(lives: { byAddress: Map<Address, ScheduleLife> }) {
  return {
    /** Reads a transaction; true if it created or deleted a schedule. */
    read(transaction: EvmTransaction): boolean {
      const own = transaction.receipt.logs.filter(
        ({ address }) => address.toLowerCase() === SCHEDULE_SERVICE_ADDRESS,
      )
      if (own.length === 0) return false
      for (const event of parseEventLogs({ abi: scheduleServiceAbi, logs: own })) {
        if (event.eventName === 'ScheduleCreated') {
          const { schedule: address, ...schedule } = event.args
          lives.byAddress.set(lowerAddress(address), {
            schedule,
            createdNs: transaction.consensusNs,
            creator: transaction.from,
            deletedNs: undefined,
          })
        }
        if (event.eventName === 'ScheduleDeleted') {
          const life = lives.byAddress.get(lowerAddress(event.args.schedule))
          if (life !== undefined) life.deletedNs = transaction.consensusNs
        }
      }
      return true
    },
    of: (schedule: Address) => lives.byAddress.get(schedule),
  }
}
