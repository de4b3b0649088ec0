export { Counter, Gauge, Histogram, Registry } from 'prom-client'
export { isBearer } from './bearer-token.ts'
export { BoundedMap, boundedLabel, readLimited } from './bounded.ts'
export { type Clock, pause, systemClock } from './clock.ts'
export {
  baseUrlField,
  booleanField,
  type FieldMeta,
  hostField,
  httpUrlField,
  integerField,
  logLevelField,
  metricsTokenField,
  portField,
  secretField,
  serviceNameField,
  sharedConfigFields,
  strictBase64,
  textField,
  withFieldMeta,
} from './config-field.ts'
export { type CorsPolicy, paidServiceCors } from './cors-policy.ts'
export {
  type ConfigRow,
  describeConfig,
  environmentExample,
  environmentTable,
} from './describe-config.ts'
export {
  type ErrorAnswer,
  type ErrorCase,
  type ErrorRow,
  errorAnswers,
  errorBody,
  type RequestIssue,
} from './error-answer.ts'
export type { ServiceErrors } from './error-handler.ts'
export { findProgram } from './find-program.ts'
export { Html, type HtmlValue, html } from './html.ts'
export { parseIsoTime } from './iso-time.ts'
export { configMessage, loadConfig } from './load-config.ts'
export { createLogger, type LoggerOptions } from './logging.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export { type Page, renderPage, sendPage } from './page.ts'
export { presentedToken } from './presented-token.ts'
export {
  type ConfigProblem,
  type ConfigReading,
  type Environment,
  readConfig,
} from './read-config.ts'
export type { ReadinessCheck, ReadinessFinding, ReadinessReport } from './readiness.ts'
export { Secret } from './secret.ts'
export { sendError } from './send-error.ts'
export {
  listeningUrl,
  type RunningServer,
  type RunOptions,
  runService,
  type ServeOptions,
  type Service,
  serve,
} from './serve.ts'
export {
  createServiceApp,
  kitLinks,
  type ServiceApp,
  type ServiceAppOptions,
} from './service-app.ts'
