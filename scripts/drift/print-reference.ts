// `node scripts/drift/print-reference.ts SERVICE` prints a service's OpenAPI document. Each service needs its own
// process: zod keeps schema names for a whole process, and two services may use the same name.
import { type ServiceApp, systemClock } from '@tallystick/service-kit'

const builders: Readonly<Record<string, () => Promise<ServiceApp>>> = {
  access: async () => {
    const { accessConfigSchema, createAccessService } = await import(
      '../../services/access/src/service.ts'
    )
    const config = accessConfigSchema.parse({
      PAY_TO: '0.0.1001',
      PAY_TO_KEY: '11'.repeat(32),
      RECORDER_KEY: '22'.repeat(32),
    })
    const { app, close } = await createAccessService({ config, clock: systemClock })
    app.addHook('onClose', close)
    return app
  },
  care: async () => {
    const { careConfigSchema, createCareService } = await import(
      '../../services/care/src/service.ts'
    )
    const secret = 'x'.repeat(32)
    const config = careConfigSchema.parse({
      WRITE_SECRET: secret,
      TOKEN_SECRET: secret,
      DATABASE_PATH: ':memory:',
    })
    const service = await createCareService({ config, clock: systemClock })
    service.app.addHook('onClose', () => service.close())
    return service.app
  },
  grading: async () => {
    const { createGradingService, gradingConfigSchema } = await import(
      '../../services/grading/src/service.ts'
    )
    const nowhere = 'http://127.0.0.1:9'
    const config = gradingConfigSchema.parse({
      DATABASE_PATH: ':memory:',
      PAY_TO: `0x${'0'.repeat(40)}`,
      LEDGER_RPC_URL: nowhere,
      FACILITATOR_URL: nowhere,
    })
    const service = await createGradingService({ config, clock: systemClock })
    service.app.addHook('onClose', () => service.close())
    return service.app
  },
}

const build = builders[process.argv[2] ?? '']
if (build === undefined) throw new Error(`SERVICE is one of ${Object.keys(builders).join(', ')}`)
const app = await build()
await app.ready()
process.stdout.write(`${JSON.stringify(app.swagger(), null, 2)}\n`)
await app.close()
