// `node scripts/drift/print-reference.ts SERVICE` prints a service's OpenAPI document. A process each: zod keeps the names
// of schemas for a whole process, and two services may give theirs the same one.
import { type ServiceApp, systemClock } from '@tallystick/service-kit'

/** Stands in for what routes do: a reference is made from their schemas alone. */
function notCalled(): never {
  throw new Error('the API reference is made without calling any route')
}

const builders: Readonly<Record<string, () => Promise<ServiceApp>>> = {
  access: async () => {
    const { buildAccessApp } = await import('../../services/access/src/app.ts')
    return await buildAccessApp({
      serviceName: 'svc',
      callAccess: notCalled,
      readStatus: notCalled,
      gate: { challenge: notCalled },
      encodeSettlement: notCalled,
      clock: systemClock,
    })
  },
  care: async () => {
    const { buildReferenceApp } = await import('../../services/care/src/reference-app.ts')
    return await buildReferenceApp()
  },
  grading: async () => {
    const { buildReferenceApp } = await import('../../services/grading/src/reference-app.ts')
    return await buildReferenceApp()
  },
}

const build = builders[process.argv[2] ?? '']
if (build === undefined) throw new Error(`SERVICE is one of ${Object.keys(builders).join(', ')}`)
const app = await build()
await app.ready()
process.stdout.write(`${JSON.stringify(app.swagger(), null, 2)}\n`)
await app.close()
