import { beforeEach, describe, expect, test } from 'vitest'
import {
  agentAddress,
  countOutcomes,
  type RecorderBench,
  startRecorderBench,
} from './usage-recorder.fixture.ts'
import { createUsageRecorder } from './usage-recorder.ts'

let bench: RecorderBench

function start(options: Parameters<typeof startRecorderBench>[0] = {}): void {
  bench = startRecorderBench({ quota: 1_000, ...options })
}

const used = (): number => bench.chain.countUsed(bench.call())

beforeEach(() => start())

describe('A18: unused calls go back', () => {
  test('A18: at SIGTERM, and the next process finds the whole rest of the quota', async () => {
    await bench.callInTurn(70)
    expect(used()).toBeGreaterThan(70)
    const closed = bench.recorder.close()
    await bench.clock.advanceMsSettled(1_000)
    await closed
    expect(used()).toBe(70)
    expect(bench.clock.pendingCount()).toBe(0)
  })

  test('A18: at SIGTERM a lease whose receipt is still to come goes back after it', async () => {
    bench.ledger.receiptLagMs = 3_000
    await bench.callInTurn(4)
    const closed = bench.recorder.close()
    await bench.clock.advanceMsSettled(2_000)
    expect(used()).toBe(7)
    await bench.clock.advanceMsSettled(3_000)
    await closed
    expect(used()).toBe(4)
  })

  test('A18: what a shutdown cannot give back is reported as lost', async () => {
    bench.ledger.receiptLagMs = 60_000
    await bench.callInTurn(4)
    const closed = bench.recorder.close()
    await bench.clock.advanceMsSettled(5_000)
    await closed
    expect(bench.recorder.figures().lostLeasedCallsTotal).toBe(3)
    expect(bench.events).toContainEqual(expect.objectContaining({ kind: 'lease-lost', calls: 3 }))
    expect(bench.clock.pendingCount()).toBe(0)
  })

  test('A18: 429 is not said before every leased call is used', async () => {
    start({ quota: 40 })
    await bench.callInTurn(2)
    await bench.clock.advanceMsSettled(60_000)
    const outcomes = await bench.callInTurn(39)
    expect([countOutcomes(outcomes, 'recorded'), countOutcomes(outcomes, 'quota-spent')]).toEqual([
      38, 1,
    ])
  })

  test('A18: of a window that is over nothing goes back', async () => {
    await bench.clock.advanceMsSettled(3_590_000)
    await bench.callInTurn(4)
    await bench.clock.advanceMsSettled(120_000)
    expect(bench.countsSent().flat()).toEqual([1, 2, 4])
    expect(bench.recorder.figures()).toMatchObject({ leasedCalls: 0, lostLeasedCallsTotal: 0 })
  })

  test('A18: a give-back that reverts is lost and reported, not tried for ever', async () => {
    await bench.callInTurn(4)
    bench.chain.isReverting = true
    await bench.stop()
    expect(bench.countsSent().flat()).toEqual([1, 2, 4, -3])
    expect(bench.recorder.figures()).toMatchObject({ lostLeasedCallsTotal: 3, leasedCalls: 0 })
  })
})

/** Two recorders, after another one has used half of the agent's quota. */
const startShared = async (): Promise<void> => {
  start({ quota: 1_000, recorderCount: 2 })
  for (let at = 0; at < 500; at += 1) bench.chain.countOutside(bench.call())
  await bench.callInTurn(4)
  expect(bench.recorder.figures().leasedCalls).toBe(3)
}

describe('A18: several recorders', () => {
  test('A18: after 30 s without a call unused calls go back with the next record, in its transaction', async () => {
    await startShared()
    await bench.clock.advanceMsSettled(60_000)
    expect(bench.countsSent()).toHaveLength(3)
    await bench.callInTurn(1, { call: { agent: agentAddress(2) } })
    expect(bench.countsSent().at(-1)).toEqual([-3, 1])
    await bench.settle()
    expect(used()).toBe(504)
    expect(bench.recorder.figures().leasedCalls).toBe(0)
  })

  test('A18: a lease that was used lately, or that no receipt counts yet, stays', async () => {
    await startShared()
    await bench.clock.advanceMsSettled(29_000)
    await bench.callInTurn(1, { call: { agent: agentAddress(2) } })
    expect(bench.countsSent().at(-1)).toEqual([1])
    start({ quota: 1_000, recorderCount: 2 })
    for (let at = 0; at < 500; at += 1) bench.chain.countOutside(bench.call())
    bench.ledger.receiptLagMs = 50_000
    await bench.callInTurn(4)
    await bench.clock.advanceMsSettled(40_000)
    void bench.recorder.record(bench.call({ agent: agentAddress(2) }))
    await bench.settle()
    expect(
      bench
        .countsSent()
        .flat()
        .filter((calls) => calls < 0),
    ).toEqual([])
  })

  test('A18: nothing goes back where the records left to the process would not do for the calls that may come', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    await bench.callInTurn(40)
    await bench.clock.advanceMsSettled(60_000)
    await bench.callInTurn(1, { call: { agent: agentAddress(2) } })
    expect(bench.countsSent().at(-1)).toEqual([1])
  })

  test('A18: when another process’s leases leave under 10 % the rest goes back at once, and nothing more is leased', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    await bench.callInTurn(10)
    const unused = bench.recorder.figures().leasedCalls
    expect(unused).toBeGreaterThan(1)
    for (let at = used(); at < 920; at += 1) bench.chain.countOutside(bench.call())
    await bench.callInTurn(1)
    await bench.settle()
    expect(bench.countsSent().at(-1)).toEqual([1 - unused])
    await bench.callInTurn(3)
    expect(bench.countsSent().slice(-3)).toEqual([[1], [1], [1]])
  })

  test('A18: alone among several, a process takes 25 records for the whole quota, too', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    await bench.callInTurn(1_000)
    expect(used()).toBe(1_000)
    expect(bench.countsSent()).toHaveLength(25)
  })

  test('A11, A18: near the end a covered call waits for its lease’s receipt; once that counts, no longer', async () => {
    start({ quota: 200, recorderCount: 2 })
    await bench.callInTurn(7)
    bench.ledger.receiptLagMs = 2_000
    const first = bench.recorder.record(bench.call())
    await bench.settle()
    const covered = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(1_900)
    expect(await bench.currentOutcome(covered)).toBe('open')
    await bench.clock.advanceMsSettled(2_000)
    const hash = await bench.recordedHash(first)
    expect(await bench.recordedHash(covered)).toBe(hash)
    expect(await bench.recordedHash(bench.recorder.record(bench.call()))).toBe(hash)
  })

  test('A11, A18: a call whose lease was refused is tried alone before it is 429', async () => {
    start({ quota: 200, recorderCount: 2 })
    await bench.callInTurn(3)
    const stale = bench.call()
    for (let at = used(); at < 199; at += 1) bench.chain.countOutside(bench.call())
    const outcome = await bench.currentOutcome(bench.recorder.record(stale))
    expect(outcome).toMatchObject({ kind: 'recorded' })
    expect(bench.countsSent().slice(-2)).toEqual([[4], [1]])
    expect(used()).toBe(200)
  })

  test('A11, A18: leased calls are among the 50 that no chain read shows yet', async () => {
    start({ quota: 2_000, recorderCount: 2 })
    const lagging = { callsUsedInRead: 0 }
    await bench.callInTurn(50, { call: lagging })
    expect(used()).toBe(50)
    const next = bench.recorder.record(bench.call(lagging))
    expect(await bench.currentOutcome(next)).toBe('open')
    await bench.clock.advanceMsSettled(1_000)
    expect(await bench.currentOutcome(next)).toMatchObject({ kind: 'recorded' })
  })
})

describe('A18: a killed process', () => {
  test.each([
    [1_000, 49],
    [200, 9],
  ])('A18: a quota of %i calls is short by at most a twentieth for each', async (quota, lost) => {
    start({ quota })
    let answered = 0
    for (let kill = 0; kill < 3; kill += 1) {
      const { ledger, clock } = bench
      const recorder = createUsageRecorder({ ledger, clock, recorderCount: 1 })
      // the last of them opens the longest lease: all before it count 1, 2, 4 … calls
      const calls = quota === 1_000 ? 64 : 16
      answered += countOutcomes(await bench.callInTurn(calls, { recorder }), 'recorded')
      // Killed: nobody asks it any more, and nothing of it reaches the ledger.
      bench.ledger.isDead = true
      await bench.clock.advanceMsSettled(60_000)
      bench.ledger.isDead = false
    }
    expect(used() - answered).toBe(3 * lost)
  })
})
