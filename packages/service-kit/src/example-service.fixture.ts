/** A small but complete service in its own process, for tests of configuration, listening and stopping. */
import { z } from 'zod'
import {
  createServiceApp,
  paidServiceCors,
  Registry,
  runService,
  secretField,
  sharedConfigFields,
  textField,
} from './index.ts'

await runService({
  name: 'example',
  schema: z.object({
    ...sharedConfigFields({ port: 3001, baseUrl: 'http://localhost:3001' }),
    SIGNING_SECRET: secretField({ minBytes: 8 }),
    FAULT: textField().optional(),
  }),
  environment: process.env,
  startRefusal: (error) =>
    error instanceof RangeError ? `It cannot start: ${error.message}` : undefined,
  async create({ config, clock, logger }) {
    if (config.FAULT === 'refusal') throw new RangeError('the store is locked')
    if (config.FAULT === 'bug') throw new TypeError('no such thing')
    const registry = new Registry()
    const app = await createServiceApp({
      name: 'tallystick-example',
      version: '0.0.0',
      description: 'An example.',
      clock,
      logger,
      registry,
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
        scope.get('/many-lines', async () => {
          for (let line = 0; line < 100; line += 1) logger.info({ line, text: 'x'.repeat(1_000) })
          return {}
        })
        scope.get('/many-errors', async () => {
          for (let line = 0; line < 100; line += 1) process.stderr.write(`${'x'.repeat(1_000)}\n`)
          process.emitWarning('x'.repeat(100_000))
          return {}
        })
        scope.get('/large', async () => ({ text: 'x'.repeat(20_000_000) }))
        scope.get('/throw', async () => {
          setImmediate(() => {
            throw new Error('the last words')
          })
          return {}
        })
        scope.get('/reject', async () => {
          void Promise.reject(new Error('nobody caught this'))
          return {}
        })
      },
    })
    return {
      app,
      registry,
      start: () => {
        if (config.FAULT === 'bug-at-start') throw new TypeError('no such thing')
        logger.info({}, 'started')
      },
      stopping: () => logger.info({}, 'told to stop'),
      close: async () => logger.info({ secret: config.SIGNING_SECRET }, 'flushed'),
    }
  },
})
