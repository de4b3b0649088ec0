import { randomInt, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { mintToken } from '@tallystick/jwt-lite'
import { isRunning } from '@tallystick/service-kit/stack-environment'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { type StackDescription } from '../../scripts/stack/stack-file.ts'
import { careToken, writeSignature } from './care-writer.ts'
import { eventually } from './eventually.ts'
import { findFault } from './fuzz/fault-of.ts'
import { type FuzzedRequest, requestFor } from './fuzz/fuzzed-request.ts'
import { listOperations } from './fuzz/operations.ts'
import { FuzzedSender } from './fuzz/send-fuzzed.ts'
import { leaksIn } from './soak/judge-vitals.ts'
import { readVitals, type Vitals } from './soak/service-vitals.ts'

const isLong = process.env['TALLYSTICK_LONG'] === '1'
/** In total, over all services. The long run draws a thousand and more of each operation, and takes 66 samples of each heap. */
const REQUESTS = isLong ? 100_000 : 10_000
/** Sent at once. */
const BATCH = 20
/** In the long run: enough samples to tell a growing heap from a breathing one. */
const SAMPLE_REQUESTS = 500
/** Seeds every request and its credentials; new each time and printed, so that a run can be repeated. */
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31))
/** Connections of this test's own reads. */
const FILES_SLACK = 8
const SERVICES = ['access', 'care', 'grading'] as const
type Service = (typeof SERVICES)[number]

const stack = inject('stack')

beforeAll(() => {
  console.log(`Repeat this run: FUZZ_SEED=${SEED} npx vitest run src/fuzz.test.ts`)
})

function uploadToken({ baseUrl, tokenSecret }: StackDescription['grading']): string {
  return mintToken({
    sub: 'fuzzer',
    scope: 'grading.write',
    audience: baseUrl,
    typ: 'grading+jwt',
    key: Buffer.from(tokenSecret),
    nowSeconds: Math.floor(Date.now() / 1_000),
    jti: randomUUID(),
  })
}

const HOST = { sub: 'fuzzer', scope: 'care.read.user care.read.assistant' }

/** An authorized caller's credentials, so that a request gets past authentication. */
function credentialsFor(
  service: Service,
  request: FuzzedRequest,
): Readonly<Record<string, string>> {
  const { care, grading } = stack.description
  switch (service) {
    case 'access':
      return {}
    case 'care':
      return request.operation.path === '/write'
        ? writeSignature(care, request.body ?? '')
        : { authorization: `Bearer ${careToken(care, HOST)}` }
    case 'grading':
      return { authorization: `Bearer ${uploadToken(grading)}` }
    default:
      return service satisfies never
  }
}

/** What is wrong with the answer to a request; undefined if nothing is. */
async function faultIn(
  sender: FuzzedSender,
  request: FuzzedRequest,
  credentials: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  try {
    return findFault(request, await sender.send(request, credentials))
  } catch (error) {
    return `no answer: ${String(error)}`
  }
}

/** Lines that the service logged as errors: bugs, unhandled rejections, crashes. */
function loggedErrors(service: Service): readonly string[] {
  const log = readFileSync(join(dirname(stack.stackFile), 'logs', `${service}.log`), 'utf8')
  return log
    .split('\n')
    .filter((line) => /"level":(50|60)|"level":"(error|fatal)"|^\s+at /.test(line))
}

describe.each(SERVICES)('%s', (service) => {
  it('answers any request as its OpenAPI document allows, never with 500, and releases every connection', async () => {
    const { baseUrl } = stack.description[service]
    const document: unknown = await (await fetch(`${baseUrl}/openapi.json`)).json()
    const operations = listOperations(document)
    const anyCall = fc.record({
      request: fc.oneof(...operations.map(requestFor)),
      isRightful: fc.boolean(),
    })
    const sender = new FuzzedSender(baseUrl)
    const before = await readVitals(baseUrl)
    const during: Vitals[] = []
    let sent = 0
    const property = fc.asyncProperty(
      fc.array(anyCall, { minLength: BATCH, maxLength: BATCH }),
      async (calls) => {
        const answers = calls.map(async ({ request, isRightful }) => {
          const credentials = isRightful ? credentialsFor(service, request) : {}
          const fault = await faultIn(sender, request, credentials)
          const { body, method, target } = request
          return fault === undefined ? [] : [`${method} ${target} ${body}: ${fault}`.slice(0, 400)]
        })
        expect((await Promise.all(answers)).flat()).toEqual([])
        sent += BATCH
        if (sent % SAMPLE_REQUESTS === 0) during.push(await readVitals(baseUrl))
      },
    )
    const numRuns = Math.ceil(REQUESTS / BATCH / SERVICES.length)
    await fc.assert(property, { numRuns, endOnFailure: true, seed: SEED })
    sender.close()
    // Connections that the sender released close in a moment.
    await eventually(
      async () => (await readVitals(baseUrl)).openFiles <= before.openFiles + FILES_SLACK,
    )
    const after = await readVitals(baseUrl)
    expect(isLong ? leaksIn({ before, during, after }) : []).toEqual([])
    const pid = stack.description.process.children[service]
    expect(pid !== undefined && isRunning(pid)).toBe(true)
    expect(loggedErrors(service)).toEqual([])
  })
})
