/** What care is while its store is put back: `/ready` says so, and nothing of the store is read or written (C42). */
import type { RefusedStart } from '@tallystick/service-kit'
import { CARE_VERSION } from './app.ts'
import { StoreBehind } from './domain/record-store.ts'
import { errorAnswer } from './errors.ts'
import { addHealthRoute, careCors } from './routes/service-routes.ts'

/** What is served in its place if the store falls short of its own last checkpoint. */
export function refusedCare(
  error: unknown,
  { SERVICE_NAME: serviceName }: { readonly SERVICE_NAME: string },
): RefusedStart | undefined {
  if (!(error instanceof StoreBehind)) return undefined
  return {
    name: 'tallystick-care',
    version: CARE_VERSION,
    check: 'store',
    sentence: error.message,
    answer: errorAnswer('store_behind', { details: { message: error.message } }),
    hasHealth: true,
    cors: careCors(serviceName),
    routes: (app) => addHealthRoute(app, { sessions: () => 0 }),
  }
}
