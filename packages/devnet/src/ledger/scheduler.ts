// Makes each scheduled call when its second comes, as the contract that scheduled it, which holds and pays for the gas.

import type { Address, Hex } from 'viem'
import { AnvilRefused, isFundsRefusal } from '../anvil/anvil-client.ts'
import { lowerAddress } from './entity-id.ts'
import { runEvmTransaction, unsignedEnvelope } from './evm-transaction.ts'
import type { Ledger } from './ledger.ts'
import {
  createScheduleLives,
  createScheduleService,
  type DueSchedule,
  type Schedule,
  type ScheduleLife,
  type ScheduleServiceSettings,
} from './schedule-service.ts'
import type { EvmTransaction } from './transaction-index.ts'

/** One execution of a schedule. */
export type ScheduledExecution = {
  /** Long-zero address of the schedule, lower case. */
  schedule: Address
  /** Contract called. */
  to: Address
  /** Contract that paid for and made the call. */
  payer: Address
  /** Hash of the execution; undefined if the payer could not cover the gas and nothing ran. */
  hash: Hex | undefined
  /** Hedera response code: 22 success, 33 reverted, 10 the payer held too little. */
  status: 22 | 33 | 10
  /** Consensus second it was scheduled for, Unix seconds. */
  expirySecond: number
  /** Ledger time at which it ran, Unix milliseconds. */
  executedAtMs: number
  /** Consensus timestamp of the execution, nanoseconds. */
  executedNs: bigint
  /** Gas used; 0 when nothing ran. */
  gasUsed: bigint
}

/** The network's side of scheduled calls. */
export type Scheduler = ReturnType<typeof createScheduler>

/** A schedule and the times of what happened to it, consensus nanoseconds. */
export type KnownSchedule = ScheduleLife & { executedNs: bigint | undefined }

/** How many of the newest executed schedules the contract still knows. The mirror node knows them all. */
const EXECUTED_KEPT = 16

export function createScheduler(
  ledger: Ledger,
  /** Native transactions that wait for their time. */
  waiting: { nextSecond(): number | undefined; runDue(): Promise<void> },
) {
  const service = createScheduleService(ledger)
  const state = {
    byAddress: new Map<Address, ScheduleLife>(),
    executions: [] as ScheduledExecution[],
  }
  const lives = createScheduleLives(state)
  let cancelTimer: (() => void) | undefined

  async function executeOne({ address, schedule }: DueSchedule): Promise<void> {
    const execution = await execute(ledger, address, schedule)
    state.executions.push(execution)
    const { status } = execution
    const ended = state.executions.at(-EXECUTED_KEPT)?.schedule
    await service.markExecuted(address, { status, ended: ended === undefined ? [] : [ended] })
  }

  async function runDue(): Promise<void> {
    await ledger.queue.run(async () => {
      for (;;) {
        const next = await service.earliest()
        if (next === undefined || next.schedule.expirySecond > ledger.clock.nowSeconds()) break
        await executeOne(next)
      }
      await waiting.runDue()
      await armTimer()
    })
  }

  async function nextSecond(): Promise<number | undefined> {
    const next = await service.earliest()
    const call = next === undefined ? Infinity : Number(next.schedule.expirySecond)
    const second = Math.min(call, waiting.nextSecond() ?? Infinity)
    return second === Infinity ? undefined : second
  }

  async function armTimer(): Promise<void> {
    cancelTimer?.()
    const next = await nextSecond()
    if (next === undefined) return
    const delayMs = Math.max(0, next * 1000 - ledger.clock.unixMs())
    cancelTimer = ledger.clock.after(delayMs, () => {
      runDue().catch(report)
    })
  }

  ledger.onExecuted = (transaction) => {
    if (!lives.read(transaction)) return
    service.changed()
    ledger.queue.run(armTimer).catch(report)
  }

  ledger.onWaiting = () => void ledger.queue.run(armTimer).catch(report)

  return {
    state,
    /** Goes on with what the restored ledger has scheduled. The caller holds the queue. */
    async resume(): Promise<void> {
      service.changed()
      await armTimer()
    },
    /** Installs the system contract. */
    install: () => service.install(),
    configure: (settings?: ScheduleServiceSettings): Promise<void> =>
      ledger.queue.run(() => service.configure(settings)),
    /** Runs everything whose second has come. */
    runDue,
    /** The second of the earliest pending schedule, undefined if there is none. */
    nextSecond,
    executions: (): readonly ScheduledExecution[] => state.executions,
    /** The addresses of all schedules, the oldest first. */
    all: (): Address[] => [...state.byAddress.keys()],
    find(address: Address): KnownSchedule | undefined {
      const life = lives.of(address)
      const executed = state.executions.find((execution) => execution.schedule === address)
      return life === undefined ? undefined : { ...life, executedNs: executed?.executedNs }
    },
  }
}

async function execute(
  ledger: Ledger,
  address: Address,
  schedule: Schedule,
): Promise<ScheduledExecution> {
  const { status, transaction } = await attempt(ledger, schedule)
  return {
    schedule: address,
    to: lowerAddress(schedule.to),
    payer: lowerAddress(schedule.payer),
    hash: transaction?.hash,
    status,
    expirySecond: Number(schedule.expirySecond),
    executedAtMs: ledger.clock.unixMs(),
    executedNs: transaction?.consensusNs ?? ledger.clock.nextTimestamp(),
    gasUsed: BigInt(transaction?.receipt.gasUsed ?? 0),
  }
}

type Outcome = { status: 22 | 33 | 10; transaction: EvmTransaction | undefined }

async function attempt(ledger: Ledger, schedule: Schedule): Promise<Outcome> {
  try {
    const transaction = await runEvmTransaction(ledger, {
      hash: undefined,
      from: lowerAddress(schedule.payer),
      asOfSecond: Number(schedule.expirySecond),
      envelope: unsignedEnvelope(ledger, {
        to: lowerAddress(schedule.to),
        data: schedule.callData,
        gas: schedule.gasLimit,
        valueTinybar: schedule.valueTinybar,
      }),
    })
    return { status: BigInt(transaction.receipt.status) === 1n ? 22 : 33, transaction }
  } catch (cause) {
    if (!(cause instanceof AnvilRefused)) throw cause
    // The payer cannot cover gas and value, or the gas is less than the call itself costs: no frame runs.
    return { status: isFundsRefusal(cause) ? 10 : 33, transaction: undefined }
  }
}

function report(cause: unknown): void {
  process.stderr.write(`devnet: scheduler: ${String(cause)}\n`)
}

/**
 * Moves ledger time forward by `seconds`. It stops at the second of each schedule on the way to run it, so that whatever an
 * execution schedules runs too. Due timers fire at each stop. Ends with a block at the new time.
 */
export async function travel(
  ledger: Ledger,
  options: { scheduler: Scheduler; seconds: number },
): Promise<void> {
  const { scheduler } = options
  const targetMs = ledger.clock.unixMs() + options.seconds * 1000
  for (;;) {
    const next = await scheduler.nextSecond()
    if (next === undefined || next * 1000 > targetMs) break
    ledger.clock.travelTo(next * 1000)
    await scheduler.runDue()
  }
  ledger.clock.travelTo(targetMs)
  await scheduler.runDue()
  await ledger.queue.run(() => ledger.evm.mine(ledger.clock.nextTimestamp()))
}
