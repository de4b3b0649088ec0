import { beforeEach, describe, expect, test } from 'vitest'
import {
  agentAddress,
  type RecorderBench,
  startRecorderBench,
  WINDOW_END_SECONDS,
} from './usage-recorder.fixture.ts'

let bench: RecorderBench

beforeEach(() => {
  bench = startRecorderBench()
})

/** Fills the queue behind a send that does not end, one batch for each agent. */
async function fillQueue(): Promise<void> {
  bench.ledger.sendMs = 60_000
  for (let batch = 0; batch <= 64; batch += 1) {
    const call = bench.recorder.record(bench.call({ agent: agentAddress(batch + 1_000) }))
    await bench.clock.advanceMsSettled(40)
    await bench.recordedHash(call)
  }
  expect(bench.recorder.figures().sealedBatches).toBe(64)
}

describe('A10: sealing', () => {
  test('A10: at low load each call is one transaction', async () => {
    for (let at = 0; at < 5; at += 1) {
      await bench.recordedHash(bench.recorder.record(bench.call()))
      await bench.clock.advanceMsSettled(200)
    }
    expect(bench.recorder.figures()).toMatchObject({
      transactionsSentTotal: 5,
      recordedCallsTotal: 5,
    })
  })

  test('A10: under load calls share transactions, and one agent is one entry per window', async () => {
    bench.ledger.sendMs = 50
    const first = bench.recorder.record(bench.call())
    await bench.settle()
    const rest = Array.from({ length: 15 }, () => bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(500)
    const hashes = await Promise.all([first, ...rest].map(bench.recordedHash))
    expect(new Set(hashes).size).toBe(2)
    expect(bench.ledger.sent.map((raw) => JSON.parse(raw).entries)).toEqual([
      [{ agent: agentAddress(1), calls: 1, windowExpiresAtSeconds: WINDOW_END_SECONDS }],
      [{ agent: agentAddress(1), calls: 15, windowExpiresAtSeconds: WINDOW_END_SECONDS }],
    ])
  })

  test('A10: while the sender is busy a batch is sealed after 40 ms', async () => {
    bench.ledger.sendMs = 5_000
    await bench.recordedHash(bench.recorder.record(bench.call()))
    const second = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(39)
    expect(await bench.currentOutcome(second)).toBe('open')
    await bench.clock.advanceMsSettled(1)
    expect(await bench.currentOutcome(second)).toMatchObject({ kind: 'recorded' })
  })

  test('A10: while the sender is busy a batch is sealed at 50 agents', async () => {
    bench.ledger.sendMs = 5_000
    await bench.recordedHash(bench.recorder.record(bench.call()))
    const some = Array.from({ length: 49 }, (_, at) =>
      bench.recorder.record(bench.call({ agent: agentAddress(at + 2) })),
    )
    expect(await bench.currentOutcome(Promise.race(some))).toBe('open')
    some.push(bench.recorder.record(bench.call({ agent: agentAddress(60) })))
    expect(new Set(await Promise.all(some.map(bench.recordedHash))).size).toBe(1)
  })

  test('A10: while 64 sealed batches wait it stays open, to 500 agents, until one has gone', async () => {
    await fillQueue()
    const open = Array.from({ length: 500 }, (_, at) =>
      bench.recorder.record(bench.call({ agent: agentAddress(at + 2) })),
    )
    const beyond = bench.recorder.record(bench.call({ agent: agentAddress(900) }))
    expect(await bench.currentOutcome(beyond)).toEqual({ kind: 'unavailable' })
    await bench.clock.advanceMsSettled(2_000)
    expect(bench.recorder.figures()).toMatchObject({ sealedBatches: 64, openBatchCalls: 500 })
    bench.ledger.sendMs = 1_000
    await bench.clock.advanceMsSettled(5_000)
    expect(bench.recorder.figures()).toMatchObject({ openBatchCalls: 500 })
    await Promise.all(open.map((call) => bench.currentOutcome(call)))
  })

  test('A10: a call not sealed within 10 s is taken out, is unavailable, and is not recorded', async () => {
    await fillQueue()
    const late = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(9_999)
    expect(await bench.currentOutcome(late)).toBe('open')
    await bench.clock.advanceMsSettled(1)
    expect(await bench.currentOutcome(late)).toEqual({ kind: 'unavailable' })
    bench.ledger.sendMs = 0
    await bench.clock.advanceMsSettled(600_000)
    expect(bench.chain.countUsed(bench.call())).toBe(0)
    expect(bench.recorder.figures().recordedCallsTotal).toBe(65)
  })

  test('A10: a batch whose calls were all taken out opens anew with its next call', async () => {
    await fillQueue()
    const late = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(57_500)
    expect(await bench.currentOutcome(late)).toEqual({ kind: 'unavailable' })
    expect(bench.recorder.figures()).toMatchObject({ openBatchCalls: 0, sealedBatches: 63 })
    const next = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(39)
    expect(await bench.currentOutcome(next)).toBe('open')
    await bench.clock.advanceMsSettled(1)
    expect(await bench.currentOutcome(next)).toMatchObject({ kind: 'recorded' })
  })

  test('A10: an unreachable ledger makes calls unavailable after 10 s and serves again when it is back', async () => {
    bench.ledger.isUnreachable = true
    const first = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(10_000)
    expect(await bench.currentOutcome(first)).toEqual({ kind: 'unavailable' })
    bench.ledger.isUnreachable = false
    await bench.clock.advanceMsSettled(4_000)
    expect(await bench.currentOutcome(bench.recorder.record(bench.call()))).toMatchObject({
      callsRemaining: 19,
    })
  })

  test('A10: signed bytes offer twice the quoted gas price', async () => {
    await bench.recordedHash(bench.recorder.record(bench.call()))
    expect(JSON.parse(bench.ledger.sent[0] ?? '').gasPriceWeibar).toBe('200')
  })

  test('A10: transactions leave in order of their nonces, one at a time', async () => {
    bench.ledger.sendMs = 20
    for (let at = 0; at < 15; at += 1) {
      void bench.recorder.record(bench.call())
      await bench.clock.advanceMsSettled(7)
    }
    await bench.clock.advanceMsSettled(1_000)
    const nonces = bench.ledger.sent.map((raw) => JSON.parse(raw).nonce)
    expect(nonces).toEqual(nonces.map((_, at) => at))
    expect(bench.recorder.figures().recordedCallsTotal).toBe(15)
  })
})
