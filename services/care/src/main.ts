import { runService } from '@tallystick/service-kit'
import { careConfigSchema } from './config.ts'
import { RecordStoreUnavailable } from './domain/record-store.ts'
import { createCareService } from './service.ts'

await runService({
  name: 'care',
  schema: careConfigSchema,
  environment: process.env,
  create: createCareService,
  startRefusal: (error) =>
    error instanceof RecordStoreUnavailable
      ? `The records cannot be served: ${error.message}`
      : undefined,
})
