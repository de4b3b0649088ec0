import { beforeEach, describe, expect, test } from 'vitest'
import {
  agentOf,
  countOf,
  hashesOf,
  type RecorderBench,
  startRecorderBench,
} from './usage-recorder.fixture.ts'
import { createUsageRecorder } from './usage-recorder.ts'

let bench: RecorderBench

function start(options: Parameters<typeof startRecorderBench>[0] = {}): void {
  bench = startRecorderBench({ quota: 1_000, ...options })
}

const used = (): number => bench.chain.usedOf(bench.call())

beforeEach(() => start())

describe('A18: unused calls go back', () => {
  test('A18: after 30 s without a call', async () => {
    await bench.callInTurn(4)
    expect(used()).toBe(7)
    expect(bench.recorder.figures().leasedCalls).toBe(3)
    await bench.clock.advanceMsSettled(29_999)
    expect(used()).toBe(7)
    await bench.clock.advanceMsSettled(1)
    expect(used()).toBe(4)
    await bench.clock.advanceMsSettled(1_000)
    expect(bench.recorder.figures()).toMatchObject({
      leasedCalls: 0,
      givenBackCallsTotal: 3,
      lostLeasedCallsTotal: 0,
    })
    expect(await bench.callInTurn(1)).toMatchObject([{ callsRemaining: 995 }])
  })

  test('A18: a read that lags behind the give-back takes nothing from what remains', async () => {
    await bench.callInTurn(4)
    const lagging = bench.call()
    expect(lagging.callsUsedInRead).toBe(7)
    expect(bench.recorder.callsRemaining(lagging)).toBe(996)
    await bench.clock.advanceMsSettled(31_000)
    expect(bench.recorder.callsRemaining(bench.call())).toBe(996)
    expect(bench.recorder.callsRemaining(lagging)).toBe(996)
    await bench.clock.advanceMsSettled(16_000)
    expect(bench.recorder.callsRemaining(bench.call())).toBe(996)
  })

  test('A18: with the next record: a call before that is sealed uses one, and the rest go back in one entry', async () => {
    await bench.callInTurn(4)
    bench.ledger.sendMs = 90
    void bench.recorder.record(bench.call({ agent: agentOf(2) }))
    await bench.clock.advanceMsSettled(29_950)
    void bench.recorder.record(bench.call({ agent: agentOf(3) }))
    await bench.clock.advanceMsSettled(50)
    expect(hashesOf(await bench.callInTurn(1))).toHaveLength(1)
    await bench.clock.advanceMsSettled(1_000)
    expect(bench.countsSent().at(-1)).toEqual([-2])
    expect(used()).toBe(5)
  })

  test('A18: many that are idle go back in one transaction', async () => {
    const agents = [1, 2, 3].map((number) => agentOf(number))
    for (const agent of agents) {
      await bench.callInTurn(4, { call: { agent } })
      await bench.clock.advanceMsSettled(300)
    }
    await bench.clock.advanceMsSettled(32_000)
    expect(bench.countsSent().filter((counts) => counts.some((calls) => calls < 0))).toEqual([
      [-3],
      [-3, -3],
    ])
  })

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

  test('A18: 429 is not said while any are on their way back', async () => {
    start({ quota: 40 })
    await bench.callInTurn(2)
    bench.ledger.receiptLagMs = 4_000
    await bench.clock.advanceMsSettled(30_000)
    const promises = Array.from({ length: 39 }, () => bench.recorder.record(bench.call()))
    expect(bench.recorder.callsRemaining(bench.call())).toBeGreaterThan(0)
    await bench.clock.advanceMsSettled(9_000)
    const outcomes = await Promise.all(promises)
    expect([countOf(outcomes, 'recorded'), countOf(outcomes, 'quota-spent')]).toEqual([38, 1])
  })

  test('A18: of a window that is over nothing goes back', async () => {
    await bench.clock.advanceMsSettled(3_590_000)
    await bench.callInTurn(4)
    await bench.clock.advanceMsSettled(120_000)
    expect(bench.countsSent().flat()).toEqual([1, 2, 4])
    expect(bench.recorder.figures()).toMatchObject({ leasedCalls: 0, lostLeasedCallsTotal: 0 })
  })

  test('A18: a lease that no receipt counts yet is not given back: it might never have counted', async () => {
    bench.ledger.receiptLagMs = 50_000
    await bench.callInTurn(4)
    await bench.clock.advanceMsSettled(49_000)
    expect(
      bench
        .countsSent()
        .flat()
        .every((calls) => calls > 0),
    ).toBe(true)
    await bench.clock.advanceMsSettled(60_000)
    expect(used()).toBe(4)
  })

  test('A18: a give-back that reverts is lost and reported, not tried for ever', async () => {
    await bench.callInTurn(4)
    bench.chain.isReverting = true
    await bench.clock.advanceMsSettled(120_000)
    expect(bench.countsSent().flat()).toEqual([1, 2, 4, -3])
    expect(bench.recorder.figures()).toMatchObject({ lostLeasedCallsTotal: 3, leasedCalls: 0 })
  })
})

describe('A18: several recorders', () => {
  test('A18: while replicas live a shortage ends after 30 s and a receipt', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    const { recorder, ledger } = bench.another()
    for (let at = 0; at < 880; at += 1) bench.chain.countOutside(bench.call())
    await bench.callInTurn(12)
    for (let at = used(); at < 1_000; at += 1) bench.chain.countOutside(bench.call())
    const shortBy = bench.recorder.figures().leasedCalls
    expect(shortBy).toBeGreaterThan(0)
    expect(await bench.callInTurn(1, { recorder })).toEqual([{ kind: 'quota-spent' }])
    ledger.receiptLagMs = 3_000
    await bench.clock.advanceMsSettled(33_000)
    expect(recorder.callsRemaining(bench.call())).toBe(shortBy)
    const served = recorder.record(bench.call())
    await bench.clock.advanceMsSettled(4_000)
    expect(await served).toMatchObject({ kind: 'recorded' })
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

  test('A18: alone among several, a process leases smaller and smaller parts of what is left', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    await bench.callInTurn(1_000)
    const sizes = bench.countsSent().flat()
    expect(used()).toBe(1_000)
    expect(sizes.length).toBeLessThan(60)
    let callsLeft = 1_000
    for (const calls of sizes) {
      expect(calls).toBeLessThanOrEqual(1 + callsLeft / 4)
      callsLeft -= calls
    }
  })

  test('A11, A18: near the end a covered call waits for its lease’s receipt; once that counts, no longer', async () => {
    start({ quota: 200, recorderCount: 2 })
    await bench.callInTurn(7)
    bench.ledger.receiptLagMs = 2_000
    const first = bench.recorder.record(bench.call())
    await bench.settle()
    const covered = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(1_900)
    expect(await bench.outcomeOf(covered)).toBe('open')
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
    const outcome = await bench.outcomeOf(bench.recorder.record(stale))
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
    expect(await bench.outcomeOf(next)).toBe('open')
    await bench.clock.advanceMsSettled(1_000)
    expect(await bench.outcomeOf(next)).toMatchObject({ kind: 'recorded' })
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
      answered += countOf(await bench.callInTurn(calls, { recorder }), 'recorded')
      // Killed: nobody asks it any more, and nothing of it reaches the ledger.
      bench.ledger.isDead = true
      await bench.clock.advanceMsSettled(60_000)
      bench.ledger.isDead = false
    }
    expect(used() - answered).toBe(3 * lost)
  })
})
