import { createLogger, loadConfig, serve, systemClock } from '@tallystick/service-kit'
import { gradingConfigSchema } from './config.ts'
import { GradingStoreUnavailable } from './domain/grading-store.ts'
import { createGradingService, type GradingService, WrongToken } from './service.ts'

const config = loadConfig(gradingConfigSchema, process.env)
const logger = createLogger({ name: 'grading', level: config.LOG_LEVEL })

async function create(): Promise<GradingService> {
  try {
    return await createGradingService({ config, clock: systemClock, logger })
  } catch (error) {
    if (!(error instanceof GradingStoreUnavailable) && !(error instanceof WrongToken)) throw error
    process.stderr.write(`Grades cannot be served: ${error.message}\n`)
    return process.exit(1)
  }
}

const service = await create()
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
