import type { Reservation, Resumed } from '@tallystick/x402'
import { describe, expect, test } from 'vitest'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { LongWorkUnavailable } from '../domain/grading/long-work.ts'
import { createLongWork } from '../long-work/do-long-work.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePrices,
} from '../testing/samples.fixture.ts'
import { gradeExample } from '../wire/examples.ts'
import { resumeSales } from './resume-sales.ts'

type Jobs = Parameters<typeof resumeSales>[0]['gate']['resumeOpen']
type Job = Awaited<ReturnType<Parameters<Jobs>[0]>>

const reservation = (request: string | undefined): Reservation => ({
  paymentId: 'p',
  payment: {
    id: 'p',
    network: 'eip155:196',
    asset: '0xa',
    amount: 10_000n,
    payTo: '0xb',
    payer: '0xc',
    payerEvmAddress: '0xc',
    nonce: '1',
    memo: '',
    validFromSeconds: 0,
    validUntilSeconds: 1,
  },
  fingerprint: 'POST /api/grade as an earlier version wrote it',
  subject: 's',
  state: 'reserved',
  expiresAtSeconds: 2,
  ...(request === undefined ? {} : { request }),
})

/** The job made from what an earlier process kept; reading an audit on the thread of long work may fail. */
async function jobFor(request: string | undefined, failure?: Error) {
  const fixture = createGraderFixture()
  const made: (Job | undefined)[] = []
  const longWork = createLongWork({ slates: fixture.grader, store: fixture.store, cpuMs: () => 0 })
  const read: unknown[] = []
  const reserved = reservation(request)
  await resumeSales(
    {
      grader: fixture.grader,
      longWork: {
        ...longWork,
        readAudit(sent) {
          read.push(sent.body)
          return failure === undefined ? longWork.readAudit(sent) : Promise.reject(failure)
        },
      },
      report: () => undefined,
      gate: {
        // Only what the gate requests; packages/x402 tests what it does with the answer.
        async resumeOpen(jobOf, hear) {
          made.push(await jobOf(reserved))
          hear?.({ reservation: reserved, end: 'paid' } satisfies Resumed)
        },
      },
    },
    () => undefined,
  )
  return { ...fixture, reserved, job: made[0], read }
}

describe('what an earlier process left open', () => {
  test('is repeated as requested, under its reserved fingerprint and with its time of receipt', async () => {
    const received = 1_780_000_000
    const { reserved, job, store } = await jobFor(
      `grade ${received} ${JSON.stringify(gradeExample)}`,
    )
    if (job === undefined) throw new Error('there is no job')
    expect(job.fingerprint).toBe(reserved.fingerprint)
    expect(await job.mayHonour(reserved.payment)).toBe(true)
    const preparation = await job.prepare(reserved.payment, reserved.request)
    if (preparation.kind === 'declined') throw new Error('it was declined')
    expect(preparation.prepared).toMatchObject({ receivedAtSeconds: received })
    const settlement = { success: true, transaction: '0x1', network: 'eip155:196' }
    const card = await job.fulfil(preparation.prepared, { payment: reserved.payment, settlement })
    const { outcome, receipt } = JSON.parse(String(card))
    expect(outcome).toBe('UNGRADED')
    expect((await store.pickByReceipt(receipt))?.opening.receivedAtSeconds).toBe(received)
  })

  test('G6: counts as received when its payment landed, if later: nobody pays after the start for a pick from before', async () => {
    const received = START_SECONDS - 600
    const request = `grade ${received} ${JSON.stringify(gradeExample)}`
    const { clock, reserved, job, store } = await jobFor(request)
    await store.ingest(
      sampleBatch([sampleObservation({ event: sampleEvent(), closes: [samplePrices()] })]),
    )
    clock.advanceMs((START_SECONDS + 300) * 1_000 - clock.unixMs())
    if (job === undefined) throw new Error('there is no job')
    const preparation = await job.prepare(reserved.payment, reserved.request)
    if (preparation.kind === 'declined') throw new Error('it was declined')
    const card = await job.fulfil(preparation.prepared, {
      payment: reserved.payment,
      settlement: { success: true, transaction: '0x1', network: 'eip155:196' },
      landedAtSeconds: START_SECONDS + 200,
    })
    const { counted, receipt } = JSON.parse(String(card))
    expect(counted).toEqual({ population: null, why: 'received_after_start' })
    const stored = await store.pickByReceipt(receipt)
    expect(stored).toMatchObject({ paymentId: 'p' })
    expect(stored?.seq).toBeUndefined()
  })

  test('an audit is read by the thread of long work, as at its doors', async () => {
    const body = { picks: [gradeExample.pick] }
    const { reserved, job, read } = await jobFor(`audit 1780000000 ${JSON.stringify(body)}`)
    expect(read).toEqual([body])
    expect(await job?.prepare(reserved.payment, reserved.request)).toMatchObject({
      prepared: { answer: { picks: 1 } },
    })
  })

  test.each([new LongWorkUnavailable('32 others wait'), new GradingStoreUnavailable('frozen')])(
    'X9: a perhaps paid audit that the thread cannot read now is read without it: %s',
    async (failure) => {
      const body = { picks: [gradeExample.pick] }
      const { reserved, job } = await jobFor(`audit 1780000000 ${JSON.stringify(body)}`, failure)
      expect(job?.fingerprint).toBe(reserved.fingerprint)
      expect(await job?.prepare(reserved.payment, reserved.request)).toMatchObject({
        prepared: { answer: { picks: 1 } },
      })
    },
  )

  test('without a request was only looked up: nothing is given for it', async () => {
    const { reserved, job } = await jobFor(undefined)
    expect(await job?.mayHonour(reserved.payment)).toBe(false)
    expect(() => job?.prepare(reserved.payment)).toThrow('not honoured')
  })

  test.each(['bet 1 {}', 'grade 1 {"pick":{"tip":1}}', 'audit 1 {"picks":[1]}', 'grade x {}'])(
    'stays open if this version does not understand it: %s',
    async (request) => {
      expect((await jobFor(request)).job).toBeUndefined()
    },
  )
})
