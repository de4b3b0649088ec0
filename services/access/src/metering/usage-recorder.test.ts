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

beforeEach(() => {
  bench = startRecorderBench()
})

describe('A9: what remains', () => {
  test('A9: 30 calls in one tick on a quota of 20: 20 are recorded, 10 find it spent, the chain counts 20', async () => {
    const promises = Array.from({ length: 30 }, () => bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(1_000)
    const outcomes = await Promise.all(promises)
    expect([countOutcomes(outcomes, 'recorded'), countOutcomes(outcomes, 'quota-spent')]).toEqual([
      20, 10,
    ])
    expect(bench.chain.countUsed(bench.call())).toBe(20)
  })

  test('A9: the answer carries the hash of the transaction that records the call', async () => {
    const hash = await bench.recordedHash(bench.recorder.record(bench.call()))
    expect(bench.chain.counted.get(hash)?.values().next().value).toBe(1)
  })

  test('A9: the hash is known when it is signed; a call does not wait for sending or receipt', async () => {
    bench.ledger.sendMs = 60_000
    expect(await bench.currentOutcome(bench.recorder.record(bench.call()))).toMatchObject({
      kind: 'recorded',
    })
    expect(bench.ledger.sent).toHaveLength(0)
  })

  test('A9: calls remaining count down by one, though the read shows calls before their receipts are read', async () => {
    const remaining: number[] = []
    for (let at = 0; at < 20; at += 1) {
      const outcome = await bench.currentOutcome(bench.recorder.record(bench.call()))
      if (outcome !== 'open' && outcome.kind === 'recorded') remaining.push(outcome.callsRemaining)
    }
    expect(remaining).toEqual(Array.from({ length: 20 }, (_, at) => 19 - at))
    expect(await bench.currentOutcome(bench.recorder.record(bench.call()))).toEqual({
      kind: 'quota-spent',
    })
  })

  test('A9: a read that shows an unreceipted call makes its receipt be fetched before the next one is counted', async () => {
    bench.ledger.receiptLagMs = 100
    await bench.recordedHash(bench.recorder.record(bench.call({ callsUsedInRead: 0 })))
    await bench.clock.advanceMsSettled(150)
    expect(bench.recorder.figures().unreceiptedCalls).toBe(1)
    expect(await bench.currentOutcome(bench.recorder.record(bench.call()))).toMatchObject({
      callsRemaining: 18,
    })
  })

  test('A9: a read that lags behind the last receipt leaves the receipt standing', async () => {
    for (let at = 0; at < 5; at += 1)
      await bench.recordedHash(bench.recorder.record(bench.call({ callsUsedInRead: 0 })))
    const last = await bench.currentOutcome(
      bench.recorder.record(bench.call({ callsUsedInRead: 0 })),
    )
    expect(last).toMatchObject({ callsRemaining: 14 })
    expect(bench.recorder.callsRemaining(bench.call({ callsUsedInRead: 0 }))).toBe(14)
  })

  test('A9: a call is counted at most once against its agent: where receipts lag behind the read it waits, and is served', async () => {
    bench.ledger.receiptLagMs = 3_000
    for (let at = 0; at < 10; at += 1)
      await bench.recordedHash(bench.recorder.record(bench.call({ callsUsedInRead: 0 })))
    const eleventh = bench.recorder.record(bench.call())
    expect(bench.call().callsUsedInRead).toBe(10)
    expect(await bench.currentOutcome(eleventh)).toBe('open')
    await bench.clock.advanceMsSettled(5_000)
    expect(await bench.currentOutcome(eleventh)).toMatchObject({
      kind: 'recorded',
      callsRemaining: 9,
    })
  })

  test('A9: a call that waits for such receipts in vain is unavailable after 10 s, not quota-spent', async () => {
    bench.ledger.receiptLagMs = 600_000
    for (let at = 0; at < 10; at += 1)
      await bench.recordedHash(bench.recorder.record(bench.call({ callsUsedInRead: 0 })))
    const eleventh = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(9_999)
    expect(await bench.currentOutcome(eleventh)).toBe('open')
    await bench.clock.advanceMsSettled(1)
    expect(await bench.currentOutcome(eleventh)).toEqual({ kind: 'unavailable' })
    expect(bench.recorder.figures()).toMatchObject({ waitingCalls: 0, expiredCallsTotal: 1 })
  })

  test('A9: a call counted outside this process (openPaid) is taken from what remains', async () => {
    bench.chain.countOutside(bench.call())
    expect(await bench.currentOutcome(bench.recorder.record(bench.call()))).toMatchObject({
      callsRemaining: 18,
    })
  })

  test('A9: each window has its own quota', async () => {
    for (let at = 0; at < 20; at += 1) await bench.recordedHash(bench.recorder.record(bench.call()))
    const next = bench.call({ windowExpiresAtSeconds: WINDOW_END_SECONDS + 3600 })
    expect(await bench.currentOutcome(bench.recorder.record(next))).toMatchObject({
      callsRemaining: 19,
    })
  })
})

describe('bounds', () => {
  test('A10: a reverted batch gives its calls back; after three in a row calls are unavailable for 30 s', async () => {
    bench.chain.isReverting = true
    for (let at = 0; at < 3; at += 1) {
      await bench.recordedHash(bench.recorder.record(bench.call()))
      await bench.settle()
    }
    expect(bench.recorder.figures()).toMatchObject({ revertedCallsTotal: 3, unreceiptedCalls: 0 })
    expect(await bench.currentOutcome(bench.recorder.record(bench.call()))).toEqual({
      kind: 'unavailable',
    })
    bench.chain.isReverting = false
    await bench.clock.advanceMsSettled(30_000)
    expect(await bench.currentOutcome(bench.recorder.record(bench.call()))).toMatchObject({
      callsRemaining: 19,
    })
  })

  test('A11: a window is forgotten once it is closed for 60 s and nothing in it is unreceipted', async () => {
    const windowExpiresAtSeconds = START_MS / 1000 - 100
    bench.ledger.receiptLagMs = 50_000
    await bench.recordedHash(bench.recorder.record(bench.call({ windowExpiresAtSeconds })))
    await bench.clock.advanceMsSettled(49_000)
    expect(bench.recorder.figures().windows).toBe(1)
    await bench.clock.advanceMsSettled(60_000)
    expect(bench.recorder.figures()).toMatchObject({ windows: 0, recordedCallsTotal: 1 })
    expect(bench.clock.pendingCount()).toBe(0)
  })

  test('A10: nothing is asked of the ledger, and no timer armed, while no call comes', async () => {
    await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.recorder.close()
    expect(bench.clock.pendingCount()).toBe(0)
    const reads = bench.ledger.receiptReads
    await bench.clock.advanceMsSettled(600_000)
    expect(bench.ledger.receiptReads).toBe(reads)
  })

  test('S6: close seals and sends what is open, waits for receipts, and refuses later calls', async () => {
    bench.ledger.sendMs = 500
    const promises = Array.from({ length: 5 }, (_, at) =>
      bench.recorder.record(bench.call({ agent: agentAddress(at + 1) })),
    )
    await bench.settle()
    const closed = bench.recorder.close()
    expect(await bench.currentOutcome(bench.recorder.record(bench.call()))).toEqual({
      kind: 'unavailable',
    })
    await bench.clock.advanceMsSettled(2_000)
    await closed
    expect(countOutcomes(await Promise.all(promises), 'recorded')).toBe(5)
    expect(bench.recorder.figures()).toMatchObject({ recordedCallsTotal: 5, unreceiptedCalls: 0 })
    expect(bench.clock.pendingCount()).toBe(0)
  })

  test('S6: close ends after 5 s, reports what may be lost, and leaves no timer', async () => {
    bench.ledger.sendFaults.push('dropped')
    const hash = await bench.recordedHash(bench.recorder.record(bench.call()))
    const closed = bench.recorder.close()
    await bench.clock.advanceMsSettled(5_000)
    await closed
    expect(bench.events.at(-1)).toEqual({ kind: 'closed-unfinished', hashes: [hash], calls: 1 })
    expect(bench.clock.pendingCount()).toBe(0)
  })
})
