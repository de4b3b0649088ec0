import { runService } from '@tallystick/service-kit'
import { gradingConfigSchema } from './config.ts'
import { createGradingService, startRefusal } from './service.ts'

await runService({
  name: 'grading',
  schema: gradingConfigSchema,
  environment: process.env,
  create: createGradingService,
  startRefusal,
})
