export { presentedToken } from './bearer-token.ts'
export {
  BoundedMap,
  boundedLabel,
  type CallRate,
  clientNetwork,
  createCallRate,
  getOrMake,
  type KeptRead,
  keptRead,
  readLimited,
  readRequestBody,
} from './bounded.ts'
export {
  atMost,
  type Clock,
  DAY_MS,
  DAY_SECONDS,
  HOUR_MS,
  isoNow,
  MINUTE_MS,
  parseIsoTime,
  pause,
  systemClock,
} from './clock.ts'
export {
  type ConfigProblem,
  configMessage,
  describeConfig,
  type Environment,
  environmentExample,
  environmentTable,
  isVariableSet,
  readConfig,
  requireConfig,
  slipSentence,
} from './config.ts'
export {
  checkedSecretField,
  choiceField,
  chooseSeed,
  databaseUrlField,
  httpUrlField,
  integerField,
  jsonField,
  parsedField,
  reachServer,
  readSecretField,
  receiptKeysField,
  secretField,
  serviceNameField,
  sharedConfigFields,
  spanConfigFields,
  storeConfigFault,
  storeConfigFields,
  switchField,
  textField,
  withFieldMeta,
} from './config-field.ts'
export { createServiceApp, type ServiceAppOptions } from './create-service-app.ts'
export { type ErrorAnswer, errorAnswers, errorBody, type RequestIssue } from './error-answer.ts'
export { sendError } from './error-handler.ts'
export { findProgram } from './find-program.ts'
export type { OperationForSale } from './for-sale.ts'
export { freePort, isPortFree } from './free-port.ts'
export { createLogger } from './logging.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export {
  createMetrics,
  figureTable,
  type MetricTable,
  measureFigures,
  Registry,
} from './metrics.ts'
export { type PostAnswer, postChecked, type ResolveName } from './post-checked.ts'
export { measureProcess } from './process-metrics.ts'
export type { ReadinessCheck, ReadinessFinding } from './readiness.ts'
export type { RefusedStart } from './refusing-service.ts'
export { type CorsPolicy, paidServiceCors } from './request-hooks.ts'
export { type BackOff, type BackOffLimits, createBackOff, retry } from './retry.ts'
export { createRetryingDelivery } from './retrying-delivery.ts'
export {
  type ListeningService,
  listeningUrl,
  runService,
  type Service,
  startListening,
} from './run-service.ts'
export { Secret } from './secret.ts'
export { addServerCard, SERVER_CARD_PATH } from './server-card.ts'
export type { ServiceApp } from './service-app.ts'
export { withCauses } from './with-causes.ts'
