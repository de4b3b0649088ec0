import { runService } from '@tallystick/service-kit'
import { accessConfigSchema } from './config.ts'
import { createAccessService } from './service.ts'

await runService({
  name: 'access',
  schema: accessConfigSchema,
  environment: process.env,
  create: createAccessService,
})
