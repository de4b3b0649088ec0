export type { Clock } from '@tallystick/service-kit'
export { AnvilFailed, AnvilMissing } from './anvil/anvil-process.ts'
export type { Devnet, DevnetAccount, DevnetControls, DevnetOptions, NewAccount } from './devnet.ts'
export type { AccountKey } from './ledger/account-key.ts'
export type { ScheduleServiceSettings } from './ledger/schedule-service.ts'
export type { ScheduledExecution } from './ledger/scheduler.ts'
export { PortTaken } from './listen.ts'
export { startDevnet } from './start-devnet.ts'
export { startXLayer } from './xlayer/start-xlayer.ts'
export type {
  XLayer,
  XLayerAccount,
  XLayerControls,
  XLayerOptions,
  XLayerStablecoin,
} from './xlayer/xlayer.ts'
