import { runService, withCauses } from '@tallystick/service-kit'
import { careConfigSchema } from './config.ts'
import { RecordStoreUnavailable } from './domain/record-store.ts'
import { refusedCare } from './refused-care.ts'
import { createCareService } from './service.ts'

await runService({
  name: 'care',
  schema: careConfigSchema,
  environment: process.env,
  create: createCareService,
  refused: refusedCare,
  startRefusal: (error) =>
    error instanceof RecordStoreUnavailable
      ? withCauses(`The records cannot be served: ${error.message}`, error)
      : undefined,
})
