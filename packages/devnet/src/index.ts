export type { Clock } from '@tallystick/service-kit'
export { AnvilFailed, AnvilMissing } from './anvil/anvil-process.ts'
export type { DevnetControls } from './controls.ts'
export type { AccountKey } from './ledger/account-key.ts'
export type { DevnetAccount, NewAccount } from './ledger/genesis.ts'
export { SEND_LATENCY_MS } from './ledger/network-faults.ts'
export type { ScheduleServiceSettings } from './ledger/schedule-service.ts'
export type { ScheduledExecution } from './ledger/scheduler.ts'
export { PortTaken } from './listen.ts'
export { type Devnet, type DevnetOptions, startDevnet } from './start-devnet.ts'
export {
  startXLayer,
  type XLayer,
  type XLayerAccount,
  type XLayerOptions,
} from './xlayer/start-xlayer.ts'
