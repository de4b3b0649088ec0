import { runService, withCauses } from '@tallystick/service-kit'
import { gradingConfigSchema } from './config.ts'
import { GradingStoreUnavailable } from './domain/closes/grading-store.ts'
import { refusedGrading } from './refused-grading.ts'
import { createGradingService, WrongToken } from './service.ts'

await runService({
  name: 'grading',
  schema: gradingConfigSchema,
  environment: process.env,
  create: createGradingService,
  refused: refusedGrading,
  startRefusal: (error) =>
    error instanceof GradingStoreUnavailable || error instanceof WrongToken
      ? withCauses(`Grades cannot be served: ${error.message}`, error)
      : undefined,
})
