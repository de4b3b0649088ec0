import { beforeEach, describe, expect, test } from 'vitest'
import {
  agentAddress,
  countOutcomes,
  type RecorderBench,
  START_MS,
  startRecorderBench,
  WINDOW_END_SECONDS,
} from './usage-recorder.fixture.ts'

let bench: RecorderBench

function start(options: Parameters<typeof startRecorderBench>[0] = {}): void {
  bench = startRecorderBench(options)
}

beforeEach(() => start())

describe('A11: several recorders', () => {
  test('A11: a process holds at most 50 calls of one agent that its own read does not show; the next one waits', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    bench.ledger.receiptLagMs = 5_000
    const promises = Array.from({ length: 51 }, () =>
      bench.recorder.record(bench.call({ callsUsedInRead: 0 })),
    )
    await bench.settle()
    expect(bench.recorder.figures()).toMatchObject({ acceptedCallsTotal: 50, waitingCalls: 1 })
    await bench.clock.advanceMsSettled(8_000)
    expect(countOutcomes(await Promise.all(promises), 'recorded')).toBe(51)
  })

  test('A11: receipted calls still count among those 50 until a chain read shows them', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    const lagging = { callsUsedInRead: 0 }
    for (let at = 0; at < 50; at += 1)
      await bench.recordedHash(bench.recorder.record(bench.call(lagging)))
    const next = bench.recorder.record(bench.call(lagging))
    expect(bench.recorder.figures()).toMatchObject({ unreceiptedCalls: 0, waitingCalls: 1 })
    const fresh = bench.recorder.record(bench.call())
    expect(await bench.currentOutcome(next)).toMatchObject({ kind: 'recorded' })
    expect(await bench.currentOutcome(fresh)).toMatchObject({ kind: 'recorded' })
  })

  test('A11: with one recorder nothing waits for its receipt', async () => {
    bench.ledger.receiptLagMs = 5_000
    expect(await bench.currentOutcome(bench.recorder.record(bench.call()))).toMatchObject({
      kind: 'recorded',
    })
  })

  test('A11: a call that finds fewer than k × 100 left waits for its receipt', async () => {
    start({ quota: 200, recorderCount: 2 })
    bench.ledger.receiptLagMs = 2_000
    expect(await bench.currentOutcome(bench.recorder.record(bench.call()))).toMatchObject({
      kind: 'recorded',
    })
    const waiting = bench.recorder.record(bench.call({ callsUsedInRead: 0 }))
    await bench.clock.advanceMsSettled(1_900)
    expect(await bench.currentOutcome(waiting)).toBe('open')
    await bench.clock.advanceMsSettled(2_000)
    const hash = await bench.recordedHash(waiting)
    expect(bench.chain.counted.has(hash)).toBe(true)
  })

  test('A11: a refusal by the contract is quota-spent', async () => {
    start({ quota: 20, recorderCount: 2 })
    const stale = bench.call()
    for (let at = 0; at < 20; at += 1) bench.chain.countOutside(bench.call())
    expect(await bench.currentOutcome(bench.recorder.record(stale))).toEqual({
      kind: 'quota-spent',
    })
    expect(bench.recorder.figures()).toMatchObject({ refusedCallsTotal: 1, unreceiptedCalls: 0 })
    expect(bench.kinds()).toContain('usage-refused')
  })

  test('A11: a call whose receipt does not come within 20 s of its sealing is unavailable', async () => {
    start({ quota: 20, recorderCount: 2 })
    bench.ledger.receiptLagMs = Number.POSITIVE_INFINITY
    const waiting = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(19_999)
    expect(await bench.currentOutcome(waiting)).toBe('open')
    await bench.clock.advanceMsSettled(1)
    expect(await bench.currentOutcome(waiting)).toEqual({ kind: 'unavailable' })
  })

  test('A11: what is counted for a call that waited in vain is the agent’s next call, or goes back', async () => {
    start({ quota: 20, recorderCount: 2 })
    bench.ledger.receiptLagMs = 30_000
    const inVain = [bench.recorder.record(bench.call()), bench.recorder.record(bench.call())]
    await bench.clock.advanceMsSettled(20_000)
    for (const call of inVain)
      expect(await bench.currentOutcome(call)).toEqual({ kind: 'unavailable' })
    const next = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(15_000)
    await bench.recordedHash(next)
    bench.ledger.receiptLagMs = 0
    const closing = bench.recorder.close()
    await bench.clock.advanceMsSettled(5_000)
    await closing
    expect(bench.chain.used).toBe(1)
  })

  test('A11: what names a window closed over 60 s ago counts against no quota', async () => {
    bench.chain.closedWindows.add(`${agentAddress(1)}/${WINDOW_END_SECONDS}`)
    await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.settle()
    expect(bench.recorder.figures()).toMatchObject({ lateCallsTotal: 1, unreceiptedCalls: 0 })
    expect(bench.recorder.callsRemaining(bench.call())).toBe(20)
    expect(bench.kinds()).toContain('usage-late')
  })
})

/** The latest block is before the window. */
function early(): void {
  bench.ledger.blockSeconds = START_MS / 1000 - 1
}

describe('A9: a window that nothing shows as begun', () => {
  test('A9: at most 3 calls are out in it, until a block is past its start', async () => {
    early()
    bench.ledger.receiptLagMs = 600_000
    const promises = Array.from({ length: 5 }, () =>
      bench.recorder.record(bench.call({ callsUsedInRead: 0 })),
    )
    await bench.clock.advanceMsSettled(3_000)
    expect(bench.recorder.figures()).toMatchObject({ acceptedCallsTotal: 3, waitingCalls: 2 })
    bench.ledger.blockSeconds = START_MS / 1000
    await bench.clock.advanceMsSettled(1_000)
    expect(countOutcomes(await Promise.all(promises), 'recorded')).toBe(5)
  })

  test('A9: one read of the block serves every window that begins then', async () => {
    let reads = 0
    const read = bench.ledger.readBlockSeconds.bind(bench.ledger)
    bench.ledger.readBlockSeconds = () => {
      reads += 1
      return read()
    }
    const calls = Array.from({ length: 20 }, (_, at) =>
      bench.recorder.record(bench.call({ agent: agentAddress(at), callsUsedInRead: 0 })),
    )
    expect(countOutcomes(await Promise.all(calls), 'recorded')).toBe(20)
    expect(reads).toBe(1)
  })

  test('A9: an agent that cancelled while reads lag gets no second quota', async () => {
    early()
    bench.ledger.receiptLagMs = 600_000
    const agent = agentAddress(1)
    const record = () => bench.recorder.record(bench.call({ agent, callsUsedInRead: 0 }))
    const calls = Array.from({ length: 20 }, record)
    await bench.clock.advanceMsSettled(1_000)
    // The cancellation shows: this window will never be.
    bench.ledger.readCallsUsed = async () => null
    bench.ledger.blockSeconds = START_MS / 1000
    await bench.clock.advanceMsSettled(1_000)
    expect(countOutcomes(await Promise.all(calls), 'recorded')).toBeLessThanOrEqual(3)
    const more = Array.from({ length: 20 }, record)
    await bench.clock.advanceMsSettled(10_000)
    expect(countOutcomes(await Promise.all(more), 'recorded')).toBe(0)
  })

  test('A9: a refusal closes it in this process until it is shown as begun', async () => {
    early()
    const window = { windowExpiresAtSeconds: WINDOW_END_SECONDS, agent: agentAddress(1) }
    for (let at = 0; at < 20; at += 1) bench.chain.countOutside(window)
    await bench.recordedHash(bench.recorder.record(bench.call({ callsUsedInRead: 0 })))
    await bench.settle()
    expect(bench.kinds()).toContain('usage-refused')
    const next = bench.recorder.record(bench.call({ callsUsedInRead: 0 }))
    await bench.clock.advanceMsSettled(9_999)
    expect(await bench.currentOutcome(next)).toBe('open')
    await bench.clock.advanceMsSettled(1)
    expect(await bench.currentOutcome(next)).toEqual({ kind: 'unavailable' })
    expect(bench.ledger.sent).toHaveLength(1)
  })
})
