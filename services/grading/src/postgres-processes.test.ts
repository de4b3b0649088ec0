/** G12: equal processes over one database, on a local X Layer, killed, stopped and woken amid payments. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { migratePostgresStore } from '@tallystick/journal-store/postgres'
import { postgresMissing, startPostgresPair } from '@tallystick/journal-store/postgres-server'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { POSTGRES_LEDGER } from './adapters/postgres-schema.ts'
import { startSlowFacilitator } from './testing/facilitators.fixture.ts'
import { startLedgerServer } from './testing/postgres-ledger.fixture.ts'
import {
  fetchText,
  ledgerSize,
  type Processes,
  readPicks,
  sendUntilAnswered,
  startOddsApi,
  startProcesses,
  sumMetric,
} from './testing/processes.fixture.ts'
import {
  fill,
  grade,
  startXLayerFixture,
  type XLayerFixture,
  xlayerCalls,
} from './testing/xlayer.fixture.ts'
import { gradeExample } from './wire/examples.ts'

const isLong = process.env['TALLYSTICK_LONG'] === '1'
const PAYMENTS = isLong ? 200 : 40
const PRICE = 10_000n
/** Ends a hang. */
const LIMIT_MS = 240_000
/** Longer than a process may be silent. */
const STOPPED_MS = isLong ? 15_000 : 8_000
const KILL_EVERY_MS = 3_000
/** Whoever has no answer after the faults asks again in rounds until each that was charged has one. */
const ROUND_MS = 3_000
/** How long payments are sent amid faults. */
const FAULTS_MS = isLong ? 60_000 : 16_000

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
    // A server has a hundred connections, of which each process takes its share.
    afterEach(async () => {
      for (const end of endings.splice(0).toReversed()) await end()
    })
    afterAll(async () => {
      await ledgers.endLedgers()
      ledgers.end()
      await fixture.stop()
    })

    /** Processes over a ledger of the example match. */
    async function startFilled(
      count: number,
      change?: (machine: number) => Readonly<Record<string, string>>,
    ) {
      const ledger = await ledgers.ledger()
      await fill({ store: await ledger.open() })
      await ledger.close()
      const processes = await startProcesses(fixture, { ledger, count, ...(change && { change }) })
      endings.push(() => processes.end())
      return { ledger, processes }
    }

    const signPayments = (processes: Processes, count: number, from = 150) =>
      signPaymentsBy(sign, processes, { count, from })
    const earned = () => fixture.chain.controls.balanceOf(fixture.payTo.address)

    test(`X7, G12: ${PAYMENTS} payments, each sent to three processes twice at once: one answer, one settlement, one pick and one piece of work each`, async () => {
      const settles = await startCountingFacilitator(fixture.facilitator.url)
      endings.push(() => settles.stop())
      const { ledger, processes } = await startFilled(3, () => ({ FACILITATOR_URL: settles.url }))
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

    test(`X9, G12: ${PAYMENTS} payments amid kill -9 of a process every few seconds, and one stopped for ${STOPPED_MS / 1_000} s and woken: none is charged or kept twice, and each that was charged is answered, alike everywhere`, async () => {
      const { ledger, processes } = await startFilled(3)
      const before = await earned()
      const payments = await signPayments(processes, PAYMENTS, 500)
      const over = new AbortController()
      const faults = disturb(processes, over.signal)
      const endMs = performance.now() + FAULTS_MS
      const buying = payments.map(async (payment, at) => {
        await pauseFor((at * FAULTS_MS * 3) / 4 / PAYMENTS)
        return Promise.all(
          [0, 1, 2, 0, 1, 2].map((machine) =>
            sendUntilAnswered(processes, payment, { machine, endMs }),
          ),
        )
      })
      const answers = await Promise.all(buying)
      over.abort()
      const { kills } = await faults
      expect(kills).toBeGreaterThan(0)
      const perPayment = answers.map(
        (own) => new Set(own.flatMap((answer) => answer ?? []).map(describeAnswer)),
      )
      const readCharged = async () => Number(((await earned()) - before) / PRICE)
      const askAgain = async (): Promise<void> => {
        const roundEndMs = performance.now() + ROUND_MS
        const asking = processes.urls().flatMap((_, machine) =>
          payments.map(async (payment, at) => {
            const by = { machine, endMs: roundEndMs }
            const answer = await sendUntilAnswered(processes, payment, by)
            if (answer !== undefined) perPayment[at]?.add(describeAnswer(answer))
          }),
        )
        await Promise.all(asking)
      }
      // What its dead process never sent is pending until its validity ends: nobody waits for that.
      const findUnanswered = async () => {
        await askAgain()
        return (await readCharged()) - perPayment.filter((texts) => texts.size > 0).length
      }
      await expect.poll(findUnanswered).toBe(0)
      const charged = await readCharged()
      expect(perPayment.filter((texts) => texts.size > 1)).toEqual([])
      expect(perPayment.filter((texts) => texts.size === 1)).toHaveLength(charged)
      expect(
        perPayment.flatMap((texts) => [...texts]).every((text) => text.startsWith('200 ')),
      ).toBe(true)
      expect(await readPicks(ledger.ownerUrl)).toHaveLength(charged)
      expect(charged).toBeGreaterThan(PAYMENTS / 2)
    })
    test('G12: of three processes with a key one polls; killed, another one does within 10 s; stopped amid a request and woken, it stores nothing', async () => {
      const api = await startOddsApi()
      endings.push(() => api.stop())
      const { ledger, processes } = await startFilled(3, (machine) => ({
        ODDS_API_KEY: 'a key',
        ODDS_API_URL: api.makeUrl(machine),
        ODDS_POLL_SECONDS: '900',
      }))
      await expect.poll(api.asked).toHaveLength(1)
      const size = await ledgerSize(ledger.ownerUrl)
      api.hold()
      await processes.kill(api.asked()[0] ?? 0)
      await expect.poll(api.asked).toHaveLength(2)
      const [first, second = 0] = api.asked()
      expect(second).not.toBe(first)
      processes.signal(second, 'SIGSTOP')
      api.release()
      await expect.poll(api.asked).toHaveLength(3)
      expect(api.asked()[2]).toBe(3 - second - (first ?? 0))
      processes.signal(second, 'SIGCONT')
      await expect.poll(() => processes.output(second)).toContain('odds could not be polled')
      expect(await ledgerSize(ledger.ownerUrl)).toBe(size)
      expect(api.asked()).toHaveLength(3)
    })

    test('X9, S6, G12: a process that is told to stop answers what is in flight and frees the rest: another one completes it at once', async () => {
      const slow = await startSlowFacilitator(fixture.facilitator.url)
      endings.push(() => slow.stop())
      const { ledger, processes } = await startFilled(
        2,
        (machine): Record<string, string> => (machine === 0 ? { FACILITATOR_URL: slow.url } : {}),
      )
      const before = await earned()
      const [payment] = await signPayments(processes, 1, 900)
      if (payment === undefined) throw new Error('no payment')
      const settled = slow.settled()
      const own = fetchText(grade({ baseUrl: processes.url(0) }), payment)
      await settled
      const waiting = fetchText(grade({ baseUrl: processes.url(1) }), payment)
      processes.signal(0, 'SIGTERM')
      expect(await own).toMatchObject({
        status: 502,
        text: expect.stringContaining('payment_pending'),
      })
      expect((await waiting).status).toBe(200)
      expect(await earned()).toBe(before + PRICE)
      expect(await readPicks(ledger.ownerUrl)).toHaveLength(1)
    })
  },
)

const describeAnswer = ({ status, text }: { readonly status: number; readonly text: string }) =>
  `${status} ${text}`

type Sign = ReturnType<typeof xlayerCalls>['sign']

/** Payments of nine payers, each for a grade of its own. */
const signPaymentsBy = (
  sign: Sign,
  processes: Processes,
  prices: { readonly count: number; readonly from: number },
) =>
  Promise.all(
    Array.from({ length: prices.count }, async (_, at) => {
      const odds = ((prices.from + at) / 100).toFixed(2)
      const body = { pick: { ...gradeExample.pick, odds } }
      const headers = await sign(`agent-${(at % 9) + 1}`, { baseUrl: processes.url(0) }, body)
      return { headers, body }
    }),
  )

/** What happens to the primary while payments are under way. */
const FAULTS = [
  { what: 'killed', befall: (pair: Pair) => pair.failOver() },
  {
    what: 'frozen',
    befall: (pair: Pair) => {
      pair.freezePrimary()
      pair.promoteStandby()
    },
  },
] as const

type Pair = Awaited<ReturnType<typeof startPostgresPair>>

const isOthers = postgresMissing !== undefined || process.env['DATABASE_URL'] !== undefined

describe.skipIf(isOthers)(
  `equal processes over two servers${isOthers ? ` (skipped: ${postgresMissing ?? 'DATABASE_URL is another’s server'})` : ''}`,
  () => {
    let fixture: XLayerFixture
    const { sign } = xlayerCalls(() => fixture)
    beforeAll(async () => {
      fixture = await startXLayerFixture()
    })
    afterAll(() => fixture.stop())

    test.each(FAULTS)(
      'S12, G12: the primary is $what and the standby promoted amid payments at two processes: each that was charged is kept once and answered alike',
      async ({ befall }) => {
        const pair = await startPostgresPair()
        const database = await pair.database()
        const url = pair.both(database.as('grading_app'))
        await migratePostgresStore(POSTGRES_LEDGER, {
          url: database.owner,
          pause: async () => undefined,
        })
        const processes = await startProcesses(fixture, { ledger: { url }, count: 2 })
        try {
          const before = await fixture.chain.controls.balanceOf(fixture.payTo.address)
          const payments = await signPaymentsBy(sign, processes, { count: 20, from: 150 })
          const endMs = performance.now() + LIMIT_MS
          const buying = Promise.all(
            payments.map(async (payment, at) => {
              await pauseFor(at * 100)
              return Promise.all(
                [0, 1].map((machine) => sendUntilAnswered(processes, payment, { machine, endMs })),
              )
            }),
          )
          await pauseFor(700)
          befall(pair)
          const answers = await buying
          const charged = Number(
            ((await fixture.chain.controls.balanceOf(fixture.payTo.address)) - before) / PRICE,
          )
          expect(
            answers
              .map((own) => new Set(own.map((answer) => `${answer?.status} ${answer?.text}`)))
              .filter((texts) => texts.size > 1),
          ).toEqual([])
          expect(answers.flat().map((answer) => answer?.status)).toEqual(
            answers.flat().map(() => 200),
          )
          expect(charged).toBe(payments.length)
          expect(await readPicks(pair.second(database.owner))).toHaveLength(charged)
        } finally {
          pair.thawPrimary()
          await processes.end()
          pair.end()
        }
      },
    )
  },
)

/** Kills one process after another and starts it again; in between, one is stopped and woken. */
async function disturb(
  processes: Processes,
  signal: AbortSignal,
): Promise<{ readonly kills: number }> {
  let kills = 0
  const pauseUnless = (ms: number) => pauseFor(ms, undefined, { signal }).catch(() => undefined)
  const stopOne = async (): Promise<void> => {
    processes.signal(2, 'SIGSTOP')
    await pauseFor(STOPPED_MS)
    processes.signal(2, 'SIGCONT')
  }
  const stopped = stopOne()
  for (let machine = 0; !signal.aborted; machine = 1 - machine) {
    await pauseUnless(KILL_EVERY_MS)
    if (signal.aborted) break
    await processes.kill(machine)
    kills += 1
    await processes.start(machine)
  }
  await stopped
  return { kills }
}

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
