// Checks docs/how-to/watch-it-run.md against the services' tables of metrics and the running services: it lists exactly the
// existing metrics, they count what happened, and a paid request's id leads through the log to the ledger.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { MetricTable } from '@tallystick/service-kit'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { z } from 'zod'
import { METRICS as ACCESS_METRICS } from '../../services/access/src/telemetry.ts'
import { METRICS as CARE_METRICS } from '../../services/care/src/telemetry.ts'
import { METRICS as GRADING_METRICS } from '../../services/grading/src/telemetry.ts'
import { connectHost } from './care-host.ts'
import { writeRecord } from './care-writer.ts'
import { eventually } from './eventually.ts'
import { documentedMetrics, type Metric, typesIn } from './metrics-page.ts'
import { type Agent, payForAccess, payForGrade } from './pay-on-stack.ts'

const TABLES: Readonly<Record<string, MetricTable>> = {
  access: ACCESS_METRICS,
  care: CARE_METRICS,
  grading: GRADING_METRICS,
}
const SERVICES = ['access', 'care', 'grading'] as const
type Service = (typeof SERVICES)[number]

const stack = inject('stack')

const byName = (left: Metric, right: Metric): number => (left.name < right.name ? -1 : 1)

const readTitle = (service: Service): string => `${service[0]?.toUpperCase()}${service.slice(1)}`

async function metricsText(service: Service): Promise<string> {
  return await (await fetch(`${stack.description[service].baseUrl}/metrics`)).text()
}

/** Our metrics in a running service, each with its type. */
const registered = async (service: Service): Promise<readonly string[]> =>
  typesIn(await metricsText(service)).filter((type) => !/^(process|nodejs)_/.test(type))

/** The sum of the metric lines that begin with this; 0 if there is none. */
async function value(service: Service, start: string): Promise<number> {
  const lines = (await metricsText(service)).split('\n').filter((line) => line.startsWith(start))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** What one sale increments, here and in this stack's other tests. */
const SALES = [
  ['access', 'access_payments_total{outcome="paid"}'],
  ['access', 'access_settlements_total{event="settled"}'],
  ['access', 'access_windows_opened_total{by="gate",kind="opened"}'],
  ['grading', 'grading_grades_total{kind="grade"'],
  ['grading', 'grading_settlements_total{event="settled"}'],
  ['grading', 'grading_payment_verification_seconds_count'],
] as const
const soldBefore = new Map<string, number>()

beforeAll(async () => {
  for (const [service, start] of SALES) soldBefore.set(start, await value(service, start))
})

/** How much each has counted since the start of this file. */
async function soldSince(service: Service): Promise<readonly number[]> {
  const own = SALES.filter(([owner]) => owner === service)
  return await Promise.all(
    own.map(async ([, start]) => (await value(service, start)) - (soldBefore.get(start) ?? 0)),
  )
}

const findAgent = (index: number): Agent => {
  const agent = stack.description.agents[index]
  if (agent === undefined) throw new Error(`the stack has no agent ${index}`)
  return agent
}

const LogLine = z.looseObject({ msg: z.string(), reqId: z.string().optional() })

/** What one search of a service's log for an answer's id finds, once its request line is written. */
async function listLines(
  service: Service,
  answer: Response,
): Promise<readonly z.infer<typeof LogLine>[]> {
  const id = answer.headers.get('x-request-id') ?? 'none'
  const search = () => {
    const log = readFileSync(join(dirname(stack.stackFile), 'logs', `${service}.log`), 'utf8')
    const found = log
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.includes(id))
    return found.map((line) => LogLine.parse(JSON.parse(line)))
  }
  // The service writes that line after sending the answer, perhaps after the answer arrived here.
  await eventually(() => search().some(({ msg }) => msg === 'request'))
  return search()
}

const Settlement = z.looseObject({ success: z.literal(true), transaction: z.string() })

function readSettlement(answer: Response): z.infer<typeof Settlement> {
  const header = answer.headers.get('payment-response') ?? ''
  return Settlement.parse(JSON.parse(Buffer.from(header, 'base64').toString('utf8')))
}

describe('S6: one search for a request id finds its payment', () => {
  it('access: the settlement, the window on the contract and the request', async () => {
    const answer = await payForAccess(findAgent(2), stack.description.access)
    expect(answer.status).toBe(200)
    const lines = await listLines('access', answer)
    expect(lines.map(({ msg }) => msg)).toEqual(['settled', 'opened', 'fulfilled', 'request'])
    expect(lines[0]).toMatchObject({ transaction: readSettlement(answer).transaction })
    const body = z.object({ metering: z.object({ recordedOnChain: z.string() }) })
    const { metering } = body.parse(await answer.json())
    expect(lines[1]).toMatchObject({ transactionHash: metering.recordedOnChain })
    expect(lines[3]).toMatchObject({ status: 200 })
  })

  it('grading: the settlement and the request', async () => {
    const answer = await payForGrade(findAgent(3), stack.description.grading, stack.description)
    expect(answer.status).toBe(200)
    const lines = await listLines('grading', answer)
    expect(lines.map(({ msg }) => msg)).toEqual(['settled', 'fulfilled', 'request'])
    expect(lines[0]).toMatchObject({ transaction: readSettlement(answer).transaction })
  })
})

describe('S4: metrics count what was done', () => {
  it('access: a purchase', async () => {
    expect(await soldSince('access')).toEqual([1, 1, 1])
    expect(await value('access', 'access_payment_verification_seconds_count')).toBeGreaterThan(0)
    expect(await value('access', 'access_renewals_reserve_can_arm')).toBeGreaterThan(0)
  })

  it('access: a metered call, until its receipt is there', async () => {
    const { baseUrl } = stack.description.access
    const { evmAddress } = findAgent(2)
    const recorded = await value('access', 'access_usage_recorded_calls_total')
    const answer = await fetch(`${baseUrl}/api/svc/access?agent=${evmAddress}`)
    expect(answer.status).toBe(200)
    expect(await value('access', 'access_usage_accepted_calls_total')).toBeGreaterThan(0)
    const isRecorded = async (): Promise<boolean> =>
      (await value('access', 'access_usage_recorded_calls_total')) > recorded
    await eventually(isRecorded)
    expect(await value('access', 'access_usage_unreceipted_calls')).toBe(0)
  })

  it('care: a durable record that is notified, and a refused write', async () => {
    const commits = await value('care', 'care_store_commit_seconds_count')
    const heardBefore = await value('care', 'care_fan_out_seconds_count')
    const { care } = stack.description
    const streams = await value('care', 'care_streams')
    const host = await connectHost(care, 'care.read.user')
    await eventually(async () => (await value('care', 'care_streams')) > streams)
    const record = { patient: 'watched', domain: 'sleep', value: 'Early.', authorId: 'dr-moss' }
    expect((await writeRecord(care, record)).status).toBe(200)
    expect(await value('care', 'care_store_commit_seconds_count')).toBe(commits + 1)
    const isTold = async (): Promise<boolean> =>
      (await value('care', 'care_fan_out_seconds_count')) === heardBefore + 1
    await eventually(isTold)
    await host.close()
    const refused = 'care_writes_total{outcome="rejected",reason="missing_signature",via="none"}'
    const refusals = await value('care', refused)
    await fetch(`${care.baseUrl}/write`, { method: 'POST', body: '{}' })
    expect(await value('care', refused)).toBe(refusals + 1)
  })

  it('grading: a grade, by its reason', async () => {
    expect(await soldSince('grading')).toEqual([1, 1, 1])
    expect(await metricsText('grading')).toMatch(
      /^grading_grades_total\{kind="grade",grade="[^"]*",reason="\w+"\} \d+$/m,
    )
    expect(await value('grading', 'grading_ledger_entries')).toBeGreaterThan(0)
  })
})

describe.each(SERVICES)('%s', (service) => {
  it('the page lists exactly the metrics that it serves', async () => {
    const listed = [...documentedMetrics('Every service'), ...documentedMetrics(readTitle(service))]
    expect(listed.map(({ name, type }) => `${name} ${type}`).toSorted()).toEqual(
      await registered(service),
    )
  })

  it('S4: the page says of each own metric the kind and the labels of the service’s table', () => {
    const table = Object.entries(TABLES[service] ?? {}).map(([name, { kind, labels = [] }]) => ({
      name,
      type: kind,
      labels: [...labels],
    }))
    expect(documentedMetrics(readTitle(service)).toSorted(byName)).toEqual(table.toSorted(byName))
  })

  it('S4: they identify nobody and nothing', async () => {
    const text = (await metricsText(service)).toLowerCase()
    for (const { evmAddress, accountId } of stack.description.agents)
      for (const identity of [evmAddress.slice(2).toLowerCase(), `"${accountId}"`])
        expect(text).not.toContain(identity)
    expect(text).not.toMatch(/watched|care:\/\/|dr-moss|soccer\/nowhere/)
  })
})
