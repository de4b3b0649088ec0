/** G12: equal processes over one database, on a local X Layer, killed, stopped and woken amid payments. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startLedgerServer } from './testing/postgres-ledger.fixture.ts'
import {
  type Processes,
  readPicks,
  sendUntilAnswered,
  startProcesses,
  sumMetric,
} from './testing/processes.fixture.ts'
import {
  fill,
  startXLayerFixture,
  type XLayerFixture,
  xlayerCalls,
} from './testing/xlayer.fixture.ts'
import { gradeExample } from './wire/examples.ts'

const isLong = process.env['TALLYSTICK_LONG'] === '1'
const PAYMENTS = isLong ? 200 : 60
const PRICE = 10_000n
/** Ends a hang. */
const LIMIT_MS = 240_000

describe.skipIf(postgresMissing !== undefined)(
  `equal processes${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let fixture: XLayerFixture
    let ledgers: ReturnType<typeof startLedgerServer>
    const endings: (() => Promise<unknown>)[] = []
    const { sign } = xlayerCalls(() => fixture)
    beforeAll(async () => {
      fixture = await startXLayerFixture()
      ledgers = startLedgerServer()
    })
    afterAll(async () => {
      for (const end of endings.splice(0).toReversed()) await end()
      await ledgers.endLedgers()
      ledgers.end()
      await fixture.stop()
    })

    /** Processes over a ledger of the example match. */
    async function startFilled(count: number, change: Readonly<Record<string, string>> = {}) {
      const ledger = await ledgers.ledger()
      await fill({ store: await ledger.open() })
      await ledger.close()
      const processes = await startProcesses(fixture, { ledger, count, change })
      endings.push(() => processes.end())
      return { ledger, processes }
    }

    /** Payments of ten payers, each for a grade of its own. */
    const signPayments = (processes: Processes, count: number, from = 150) =>
      Promise.all(
        Array.from({ length: count }, async (_, at) => {
          const body = { pick: { ...gradeExample.pick, odds: ((from + at) / 100).toFixed(2) } }
          const headers = await sign(`agent-${(at % 9) + 1}`, { baseUrl: processes.url(0) }, body)
          return { headers, body }
        }),
      )
    const earned = () => fixture.chain.controls.balanceOf(fixture.payTo.address)

    test(`X7, G12: ${PAYMENTS} payments, each sent to three processes twice at once: one answer, one settlement, one pick and one piece of work each`, {
      timeout: LIMIT_MS,
    }, async () => {
      const settles = await startCountingFacilitator(fixture.facilitator.url)
      endings.push(() => settles.stop())
      const { ledger, processes } = await startFilled(3, { FACILITATOR_URL: settles.url })
      const before = await earned()
      const payments = await signPayments(processes, PAYMENTS)
      const endMs = performance.now() + LIMIT_MS
      const answers = await Promise.all(
        payments.map((payment) =>
          Promise.all(
            [0, 1, 2, 0, 1, 2].map((machine) =>
              sendUntilAnswered(processes, payment, { machine, endMs }),
            ),
          ),
        ),
      )
      expect(answers.map((own) => new Set(own.map((answer) => answer?.text)).size)).toEqual(
        payments.map(() => 1),
      )
      expect(new Set(answers.flat().map((answer) => answer?.status))).toEqual(new Set([200]))
      expect(await earned()).toBe(before + BigInt(PAYMENTS) * PRICE)
      expect(settles.count()).toBe(PAYMENTS)
      expect(await readPicks(ledger.ownerUrl)).toHaveLength(PAYMENTS)
      expect(await sumMetric(processes.urls(), 'grading_sold_total')).toBe(PAYMENTS)
    })
  },
)

/** In front of a facilitator: counts what it is asked to settle. */
async function startCountingFacilitator(to: string) {
  let settles = 0
  const server = createServer(async (request, response) => {
    const body = await new Response(request).arrayBuffer().catch(() => undefined)
    if (request.url === '/settle') settles += 1
    const answer = await fetch(`${to}${request.url}`, {
      method: request.method ?? 'GET',
      ...(request.method === 'POST' && body !== undefined
        ? { body, headers: { 'content-type': 'application/json' } }
        : {}),
    })
    response
      .writeHead(answer.status, { 'content-type': 'application/json' })
      .end(await answer.text())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    count: () => settles,
    stop: async () => void server.close(),
  }
}
