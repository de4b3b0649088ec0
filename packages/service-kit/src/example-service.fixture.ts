/** A whole small service in a process of its own, for the tests of configuration, listening and stopping. */
import { z } from 'zod'
import {
  createLogger,
  createServiceApp,
  hostField,
  loadConfig,
  logLevelField,
  paidServiceCors,
  portField,
  secretField,
  serve,
  systemClock,
} from './index.ts'

const config = loadConfig(
  z.object({
    PORT: portField(3001),
    HOST: hostField(),
    LOG_LEVEL: logLevelField(),
    SIGNING_SECRET: secretField({ minBytes: 8 }),
  }),
  process.env,
)
const logger = createLogger({ name: 'example', level: config.LOG_LEVEL })
const clock = systemClock
const app = await createServiceApp({
  name: 'tallystick-example',
  version: '0.0.0',
  description: 'An example.',
  clock,
  logger,
  cors: paidServiceCors,
  routes: (scope) => {
    scope.get('/slow', (_request, reply) => {
      logger.info({}, 'slow began')
      clock.after(400, () => void reply.send({ done: true }))
    })
    scope.get('/hang', (_request, reply) => {
      logger.info({}, 'hang began')
      reply.hijack()
    })
    scope.get('/reject', async () => {
      void Promise.reject(new Error('nobody caught this'))
      return {}
    })
  },
})
await serve({
  app,
  host: config.HOST,
  port: config.PORT,
  logger,
  onStop: () => logger.info({ secret: config.SIGNING_SECRET }, 'flushed'),
})
