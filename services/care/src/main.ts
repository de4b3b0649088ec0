import { createLogger, loadConfig, serve, systemClock } from '@tallystick/service-kit'
import { careConfigSchema } from './config.ts'
import { isStoreFailure } from './errors.ts'
import { type CareService, createCareService } from './service.ts'

const config = loadConfig(careConfigSchema, process.env)
const logger = createLogger({ name: 'care', level: config.LOG_LEVEL })

async function start(): Promise<CareService> {
  try {
    const programPath = process.env['PATH'] ?? ''
    return await createCareService({ config, clock: systemClock, logger, programPath })
  } catch (error) {
    if (!isStoreFailure(error)) throw error
    process.stderr.write(`The records cannot be served: ${error.message}\n`)
    return process.exit(1)
  }
}

const service = await start()
await serve({
  app: service.app,
  host: config.HOST,
  port: config.PORT,
  logger,
  registry: service.registry,
  onStopping: () => service.endStreams(),
  onStop: () => service.close(),
})
