/** S14: a paid call as a collector sees it, over every process that it passes. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startOtlpReceiver } from '../../packages/service-kit/src/otlp-receiver.fixture.ts'
import { createLocalStack } from '../../scripts/stack/local-stack.ts'
import { freePorts } from '../../scripts/stack/ports.ts'
import type { StackDescription } from '../../scripts/stack/stack-file.ts'
import { eventually } from './eventually.ts'
import { payForAccess, payForGrade } from './pay-on-stack.ts'

const ports = await freePorts()
const receiver = await startOtlpReceiver()
const folder = mkdtempSync(join(tmpdir(), 'tallystick-traces-'))
const logFolder = join(folder, 'logs')
const stack = createLocalStack({
  ports,
  logFolder,
  dataFolder: join(folder, 'data'),
  isWatching: false,
  settings: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint },
  onStep: () => undefined,
})
let description: StackDescription
beforeAll(async () => {
  description = await stack.start()
})
afterAll(async () => {
  await stack.stop()
  await receiver.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The spans of a trace from one up to whoever asked, outermost first: who measured it, its name and, of a call, the port. */
function pathTo(span: (typeof receiver.spans)[number]): string {
  const { attributes, name, parentSpanId, service } = span
  const parent = receiver.spans.find(({ spanId }) => spanId === parentSpanId)
  const to = attributes['server.port']
  const own = `${service}: ${name}${to === undefined ? '' : ` ${to}`}`
  return parent === undefined ? own : `${pathTo(parent)} > ${own}`
}

test.each([
  {
    service: 'access',
    route: 'GET /api/svc/access',
    ledger: ports.consensus,
    pay: (request: typeof fetch) =>
      payForAccess(agent(0), { baseUrl: description.access.baseUrl, request }),
  },
  {
    service: 'grading',
    route: 'POST /api/grade',
    ledger: ports.xlayer,
    pay: (request: typeof fetch) =>
      payForGrade(agent(1), { baseUrl: description.grading.baseUrl, request }, description),
  },
])(
  'S14: a paid call of $service is one trace over the service, the facilitator and the ledger, in spans and logs',
  async ({ service, route, ledger, pay }) => {
    const trace = randomBytes(16).toString('hex')
    const request: typeof fetch = (input, init) => {
      const traced = new Request(input, init)
      traced.headers.set('traceparent', `00-${trace}-00f067aa0ba902b7-01`)
      return fetch(traced)
    }
    expect((await pay(request)).status).toBe(200)
    const settled = `${service}: ${route} > ${service}: POST ${ports.facilitator} > facilitator: POST /settle`
    const paths = () => receiver.spans.filter(({ traceId }) => traceId === trace).map(pathTo)
    await eventually(() => paths().includes(`${settled} > facilitator: POST ${ledger}`))
    for (const name of [service, 'facilitator'])
      expect(readFileSync(join(logFolder, `${name}.log`), 'utf8')).toContain(
        `"trace_id":"${trace}"`,
      )
  },
)

function agent(index: number): StackDescription['agents'][number] {
  const found = description.agents[index]
  if (found === undefined) throw new Error(`the stack has no agent ${index}`)
  return found
}
