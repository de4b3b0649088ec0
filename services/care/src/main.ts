import { runService } from '@tallystick/service-kit'
import { careConfigSchema } from './config.ts'
import { isStoreFailure } from './errors.ts'
import { createCareService } from './service.ts'

await runService({
  name: 'care',
  schema: careConfigSchema,
  environment: process.env,
  create: createCareService,
  startRefusal: (error) =>
    isStoreFailure(error) ? `The records cannot be served: ${error.message}` : undefined,
})
