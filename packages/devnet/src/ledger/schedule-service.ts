// The schedule system contract as the network sees it: what is due, what became of it, and how it is to behave.

import { scheduleServiceAbi, scheduleServiceRuntimeCode } from '@tallystick/contracts'
import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, zeroAddress } from 'viem'
import { lowerAddress } from './entity-id.ts'
import { TIMESTAMP_LAG_SECONDS_DEFAULT } from './evm.ts'
import type { Ledger } from './ledger.ts'
import { FEE_COLLECTOR } from './network.ts'

/** Address of the schedule system contract (HIP-755, HIP-1215). */
export const SCHEDULE_SERVICE_ADDRESS: Address = '0x000000000000000000000000000000000000016b'

/** How the schedule service behaves; each back to normal when left out. */
export type ScheduleServiceSettings = {
  /** Response code of every `scheduleCall`, e.g. 370. */
  forcedCode?: number
  /** Gas that fits into one second; 1 makes every second busy. */
  gasPerSecond?: bigint
  /** What `scheduleCall` costs; over 15 million starves every call. */
  createGas?: bigint
  /** Seconds by which block time trails consensus time (default 2). */
  timestampLagSeconds?: number
}

/** A schedule as the contract has it. */
export type Schedule = {
  to: Address
  expirySecond: bigint
  payer: Address
  gasLimit: bigint
  valueTinybar: bigint
  closedAtSecond: bigint
  status: number
  /** 0 unknown, 1 pending, 2 executed, 3 deleted. */
  state: number
  callData: Hex
}

/** The network's calls to the contract. Those that change something need the queue. */
export type ScheduleService = {
  /** Puts the contract in its place. */
  install(): Promise<void>
  configure(settings: ScheduleServiceSettings): Promise<void>
  markExecuted(schedule: Address, status: number): Promise<void>
  /** The earliest pending schedule whose second is at most `upToSecond`. */
  nextDue(upToSecond: bigint): Promise<{ address: Address; schedule: Schedule } | undefined>
  scheduleAt(address: Address): Promise<Schedule | undefined>
}

/** Gas of the network's own calls to its contracts: plenty, since nobody pays for it. */
const NETWORK_GAS = 5_000_000n

/** The contract at its address. */
export function createScheduleService(ledger: Ledger): ScheduleService {
  async function read(data: Hex): Promise<Hex> {
    const call = { to: SCHEDULE_SERVICE_ADDRESS, data }
    return (await ledger.anvil.call('eth_call', [call, 'latest'])) as Hex
  }

  async function networkCall(data: Hex): Promise<void> {
    await ledger.evm.execute({
      from: FEE_COLLECTOR.address,
      to: SCHEDULE_SERVICE_ADDRESS,
      data,
      valueTinybar: 0n,
      gas: NETWORK_GAS,
      gasPriceTinybar: 0n,
      consensusNs: ledger.clock.nextTimestamp(),
    })
  }

  return {
    async install() {
      const code = [SCHEDULE_SERVICE_ADDRESS, scheduleServiceRuntimeCode]
      await ledger.anvil.call('anvil_setCode', code)
    },
    async configure(settings) {
      const lagSeconds = settings.timestampLagSeconds ?? TIMESTAMP_LAG_SECONDS_DEFAULT
      ledger.settings.timestampLagSeconds = lagSeconds
      const args = [
        BigInt(lagSeconds),
        settings.gasPerSecond ?? 0n,
        settings.createGas ?? 0n,
        BigInt(settings.forcedCode ?? 0),
      ] as const
      await networkCall(
        encodeFunctionData({ abi: scheduleServiceAbi, functionName: 'configure', args }),
      )
    },
    markExecuted: (schedule, status) =>
      networkCall(
        encodeFunctionData({
          abi: scheduleServiceAbi,
          functionName: 'markExecuted',
          args: [schedule, status],
        }),
      ),
    async nextDue(upToSecond) {
      const abi = scheduleServiceAbi
      const data = await read(
        encodeFunctionData({ abi, functionName: 'nextDue', args: [upToSecond] }),
      )
      const [address, schedule] = decodeFunctionResult({ abi, functionName: 'nextDue', data })
      return address === zeroAddress ? undefined : { address: lowerAddress(address), schedule }
    },
    async scheduleAt(address) {
      const abi = scheduleServiceAbi
      const data = await read(
        encodeFunctionData({ abi, functionName: 'scheduleAt', args: [address] }),
      )
      const schedule = decodeFunctionResult({ abi, functionName: 'scheduleAt', data })
      return schedule.state === 0 ? undefined : schedule
    },
  }
}
