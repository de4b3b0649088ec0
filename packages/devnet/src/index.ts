export { AnvilFailed } from './anvil/anvil-process.ts'
export { AnvilMissing } from './anvil/find-anvil.ts'
export type { Clock } from './clock.ts'
export type { Devnet, DevnetAccount, DevnetControls, DevnetOptions, NewAccount } from './devnet.ts'
export type { AccountKey } from './ledger/account-key.ts'
export type { ScheduleServiceSettings } from './ledger/schedule-service.ts'
export type { ScheduledExecution } from './ledger/scheduler.ts'
export { PortTaken } from './port-taken.ts'
export { startDevnet } from './start-devnet.ts'
export { startXLayer } from './xlayer/start-xlayer.ts'
export type {
  XLayer,
  XLayerAccount,
  XLayerControls,
  XLayerOptions,
  XLayerStablecoin,
} from './xlayer/xlayer.ts'
