import { createLogger, loadConfig, serve, systemClock } from '@tallystick/service-kit'
import { accessConfigSchema } from './config.ts'
import { createAccessService } from './service.ts'

const config = loadConfig(accessConfigSchema, process.env)
const logger = createLogger({ name: 'access', level: config.LOG_LEVEL })
const service = await createAccessService({ config, clock: systemClock, logger })
service.start()
await serve({
  app: service.app,
  host: config.HOST,
  port: config.PORT,
  logger,
  registry: service.registry,
  onStopping: () => void service.stopSelling(),
  onStop: () => service.close(),
})
