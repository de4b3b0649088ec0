/** The service that the application's tests talk to. */
import { z } from 'zod'
import { createServiceApp, type ServiceAppOptions } from './create-service-app.ts'
import { createLogger } from './logging.ts'
import { manualClock } from './manual-clock.ts'
import { paidServiceCors } from './request-hooks.ts'
import type { ServiceApp } from './service-app.ts'

class LedgerDown extends Error {}

const routes = (app: ServiceApp): void => {
  const query = z.strictObject({ agent: z.string().regex(/^0x[a-f0-9]{2}$/, 'two hex digits') })
  app.get('/thing', { schema: { querystring: query, summary: 'A thing.' } }, async (request) => ({
    agent: request.query.agent,
  }))
  const body = z.object({ picks: z.array(z.object({ price: z.number().gt(1) })) })
  app.post(
    '/paid',
    { schema: { body, response: { 200: z.object({ n: z.int() }) } } },
    async (request) => ({
      n: request.body.picks.length,
    }),
  )
  app.post('/probe', async (request) => ({ hasBody: request.body !== undefined }))
  app.get('/bug', async () => {
    throw new Error('the password is hunter2')
  })
  app.get('/ledger', async () => {
    throw new LedgerDown('10.0.0.7 refused')
  })
  app.register(async (nested) => {
    nested.get('/nested/:id', async () => ({}))
  })
}

/** What the application has logged since it was built. */
export const lines: Record<string, unknown>[] = []
const open: ServiceApp[] = []

/** A small service with one route of each kind; closed by `closeThings`. */
export async function buildThing(options: Partial<ServiceAppOptions> = {}): Promise<ServiceApp> {
  lines.length = 0
  const app = await createServiceApp({
    name: 'tallystick-thing',
    version: '1.2.3',
    description: 'Things & <more>.',
    clock: manualClock(0),
    logger: createLogger({
      name: 'thing',
      level: 'debug',
      destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
    }),
    cors: paidServiceCors,
    errors: {
      answer: (error) =>
        error instanceof LedgerDown ? { status: 502, error: 'ledger_unavailable' } : undefined,
    },
    newRequestId: () => 'request-1',
    routes,
    ...options,
  })
  open.push(app)
  return app
}

/** Closes everything built. */
export async function closeThings(): Promise<void> {
  await Promise.all(open.splice(0).map((app) => app.close()))
}
