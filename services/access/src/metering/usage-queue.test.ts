import { beforeEach, describe, expect, test } from 'vitest'
import { RESEND_AFTER_MS } from '../transactions/transaction-repair.ts'
import { LATE_MS } from './usage-ledger-fake.fixture.ts'
import { agentAddress, type RecorderBench, startRecorderBench } from './usage-recorder.fixture.ts'
import { createUsageRecorder } from './usage-recorder.ts'

let bench: RecorderBench

function start(options: Parameters<typeof startRecorderBench>[0] = {}): void {
  bench = startRecorderBench(options)
}

beforeEach(() => start())

describe('A10: bytes that may be under way are not sent again', () => {
  test('A10: a connection that breaks while the relay submits: one transaction, and no nonce is charged twice', async () => {
    bench.ledger.sendFaults.push('late')
    const hash = await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(LATE_MS + 5_000)
    expect(bench.chain.counted.has(hash)).toBe(true)
    expect(bench.ledger.sent).toHaveLength(1)
    expect(bench.ledger.wrongNonces).toBe(0)
    expect(bench.recorder.figures()).toMatchObject({ resendsTotal: 0, unreceiptedCalls: 0 })
  })

  test('A10: a lost answer to bytes that arrived is seen by the nonce, and nothing is sent again', async () => {
    bench.ledger.sendFaults.push('unanswered')
    await bench.recordedHash(bench.recorder.record(bench.call()))
    const behind = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(5_000)
    await bench.recordedHash(behind)
    expect(bench.ledger.sent).toHaveLength(2)
    expect(bench.ledger.wrongNonces).toBe(0)
    expect(bench.recorder.figures()).toMatchObject({ recordedCallsTotal: 2, unreceiptedCalls: 0 })
  })

  test('A10: they go again 20 s after they left, the same bytes, while the ledger shows their nonce unused', async () => {
    bench.ledger.sendFaults.push('lost')
    const hash = await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(RESEND_AFTER_MS - 1)
    expect(bench.recorder.figures().resendsTotal).toBe(0)
    await bench.clock.advanceMsSettled(5_000)
    expect(bench.recorder.figures()).toMatchObject({ resendsTotal: 1, unreceiptedCalls: 0 })
    expect(bench.chain.counted.has(hash)).toBe(true)
  })

  test('A10: while the ledger’s nonce cannot be read they do not go again', async () => {
    bench.ledger.sendFaults.push('lost')
    await bench.recordedHash(bench.recorder.record(bench.call()))
    bench.ledger.isUnreachable = true
    await bench.clock.advanceMsSettled(60_000)
    expect(bench.recorder.figures().resendsTotal).toBe(0)
    bench.ledger.isUnreachable = false
    await bench.clock.advanceMsSettled(5_000)
    expect(bench.recorder.figures()).toMatchObject({ resendsTotal: 1, unreceiptedCalls: 0 })
  })

  test('A10: none of those behind them leaves before their fate is known', async () => {
    bench.ledger.sendFaults.push('late')
    const calls = Array.from({ length: 3 }, async (_, at) => {
      await bench.clock.advanceMsSettled(at * 100)
      return await bench.recorder.record(bench.call())
    })
    await bench.clock.advanceMsSettled(LATE_MS - 1_000)
    expect(bench.ledger.sent).toHaveLength(1)
    await bench.clock.advanceMsSettled(10_000)
    await Promise.all(calls)
    expect(bench.ledger.wrongNonces).toBe(0)
    expect(bench.chain.countUsed(bench.call())).toBe(3)
  })

  test('A10: what the ledger never looked at goes again after the pause of any failure', async () => {
    bench.ledger.sendFaults.push('not-taken')
    const hash = await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(1_000)
    expect(bench.chain.counted.has(hash)).toBe(true)
    expect(bench.recorder.figures().resendsTotal).toBe(0)
  })
})

describe('A10: sending again and signing anew', () => {
  test.each(['lost', 'unanswered'] as const)(
    'A10: after a request that was %s the same bytes are sent again, and the call counts once',
    async (fault) => {
      bench.ledger.sendFaults.push(fault)
      const hash = await bench.recordedHash(bench.recorder.record(bench.call()))
      await bench.clock.advanceMsSettled(40_000)
      expect(new Set(bench.ledger.sent).size).toBe(1)
      expect(bench.chain.counted.has(hash)).toBe(true)
      expect(bench.chain.countUsed(bench.call())).toBe(1)
      expect(bench.recorder.figures()).toMatchObject({ resigningsTotal: 0, unreceiptedCalls: 0 })
    },
  )

  test('A10: a dropped transaction and all after it are sent again, in order and unchanged', async () => {
    bench.ledger.sendFaults.push('dropped', null, null)
    const promises = []
    for (let at = 0; at < 3; at += 1) {
      promises.push(bench.recorder.record(bench.call()))
      await bench.clock.advanceMsSettled(100)
    }
    const hashes = await Promise.all(promises.map(bench.recordedHash))
    await bench.clock.advanceMsSettled(30_000)
    expect(hashes.every((hash) => bench.chain.counted.has(hash))).toBe(true)
    expect(bench.chain.countUsed(bench.call())).toBe(3)
    expect(bench.recorder.figures()).toMatchObject({ resigningsTotal: 0, unreceiptedCalls: 0 })
    expect(bench.recorder.figures().resendsTotal).toBeGreaterThan(0)
  })

  test('A10: while the recorder has no money for the proof, a batch in doubt is not given up', async () => {
    await bench.recordedHash(bench.recorder.record(bench.call()))
    bench.ledger.hasFunds = false
    bench.ledger.sendFaults.push('late')
    await bench.recordedHash(bench.recorder.record(bench.call()))
    bench.ledger.consumeNonce()
    await bench.clock.advanceMsSettled(300_000)
    expect(bench.recorder.figures()).toMatchObject({ missingCallsTotal: 0 })
    bench.ledger.hasFunds = true
    await bench.clock.advanceMsSettled(60_000)
    expect(bench.recorder.figures()).toMatchObject({ missingCallsTotal: 0, unreceiptedCalls: 0 })
    expect(bench.chain.countUsed(bench.call())).toBe(2)
  })

  test('A10: a nonce that something else consumed forces a new signature, counted and reported with both hashes', async () => {
    await bench.recordedHash(bench.recorder.record(bench.call()))
    bench.ledger.consumeNonce()
    const oldHash = await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(1_000)
    const resigned = bench.events.find((event) => event.kind === 're-signed')
    expect(resigned).toMatchObject({ reason: 'nonce-consumed', oldHash, calls: 1, nonce: 2 })
    expect(bench.chain.counted.has(resigned?.kind === 're-signed' ? resigned.newHash : '')).toBe(
      true,
    )
    expect(bench.chain.countUsed(bench.call())).toBe(2)
    expect(bench.recorder.figures().resigningsTotal).toBe(1)
  })

  test('A10: batches that wait behind a consumed nonce keep their own bytes', async () => {
    bench.ledger.sendMs = 1_000
    const first = await bench.recordedHash(bench.recorder.record(bench.call()))
    const second = bench.recorder.record(bench.call())
    await bench.clock.advanceMsSettled(100)
    bench.ledger.consumeNonce()
    await bench.clock.advanceMsSettled(10_000)
    expect(bench.chain.counted.has(first)).toBe(false)
    expect(bench.chain.counted.has(await bench.recordedHash(second))).toBe(true)
    expect(bench.chain.countUsed(bench.call())).toBe(2)
    expect(bench.recorder.figures()).toMatchObject({ resigningsTotal: 1, unreceiptedCalls: 0 })
  })

  test('A10: a process that restarts on a lagging nonce signs anew instead of losing its first calls', async () => {
    for (let at = 0; at < 4; at += 1) await bench.recordedHash(bench.recorder.record(bench.call()))
    bench.ledger.nonceLag = 3
    const restarted = createUsageRecorder({ ...bench, recorderCount: 1 })
    await bench.recordedHash(restarted.record(bench.call()))
    await bench.clock.advanceMsSettled(5_000)
    expect(bench.chain.countUsed(bench.call())).toBe(5)
    expect(restarted.figures().unreceiptedCalls).toBe(0)
  })

  test('A10: a gas price no longer accepted forces a new signature with the same nonce, reported with both hashes', async () => {
    await bench.recordedHash(bench.recorder.record(bench.call()))
    bench.ledger.gasPriceWeibar = 500n
    const oldHash = await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(1_000)
    expect(bench.events.find((event) => event.kind === 're-signed')).toMatchObject({
      reason: 'gas-price-too-low',
      oldHash,
      nonce: 1,
    })
    expect(bench.chain.countUsed(bench.call())).toBe(2)
    expect(bench.recorder.figures().unreceiptedCalls).toBe(0)
  })

  test('A10: a refused gas price that the ledger quotes no better leaves the bytes as they are until it does', async () => {
    await bench.recordedHash(bench.recorder.record(bench.call()))
    bench.ledger.quotedWeibar = 100n
    bench.ledger.gasPriceWeibar = 500n
    await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(20_000)
    expect(bench.recorder.figures().resigningsTotal).toBe(0)
    bench.ledger.quotedWeibar = 500n
    await bench.clock.advanceMsSettled(5_000)
    expect(bench.recorder.figures()).toMatchObject({ resigningsTotal: 1, unreceiptedCalls: 0 })
  })

  test('A10: pauses between attempts double to 4 s and begin anew after a success', async () => {
    for (let outage = 0; outage < 2; outage += 1) {
      bench.events.length = 0
      bench.ledger.hasFunds = false
      await bench.recordedHash(bench.recorder.record(bench.call()))
      await bench.clock.advanceMsSettled(11_000)
      expect(bench.events.flatMap((event) => ('retryMs' in event ? [event.retryMs] : []))).toEqual([
        250, 500, 1_000, 2_000, 4_000, 4_000,
      ])
      bench.ledger.hasFunds = true
      await bench.clock.advanceMsSettled(5_000)
    }
  })

  test('A10: without gas money the bytes wait unchanged, and are sent when there is some', async () => {
    bench.ledger.hasFunds = false
    const hash = await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(20_000)
    expect(bench.events).toContainEqual(
      expect.objectContaining({ kind: 'ledger-failed', reason: 'insufficient-funds' }),
    )
    bench.ledger.hasFunds = true
    await bench.clock.advanceMsSettled(5_000)
    expect(bench.chain.counted.has(hash)).toBe(true)
    expect(new Set(bench.ledger.sent).size).toBe(1)
  })

  test('A10: a nonce consumed after the ledger took the bytes is proved by a later receipt before signing anew', async () => {
    bench.ledger.sendFaults.push('dropped')
    await bench.recordedHash(bench.recorder.record(bench.call()))
    bench.ledger.consumeNonce()
    await bench.clock.advanceMsSettled(14_000)
    expect(bench.recorder.figures().resigningsTotal).toBe(0)
    await bench.clock.advanceMsSettled(30_000)
    expect(bench.recorder.figures()).toMatchObject({ resigningsTotal: 1, unreceiptedCalls: 0 })
    expect(bench.chain.countUsed(bench.call())).toBe(1)
  })

  test('A10: a receipt that shows just as a later one proves its absence is believed: nothing is signed anew', async () => {
    const first = await bench.recordedHash(bench.recorder.record(bench.call()))
    let isLaterShown = false
    start()
    bench.ledger.hidesReceipt = (hash) => {
      if (hash !== first) isLaterShown = true
      return hash === first && !isLaterShown
    }
    expect(await bench.recordedHash(bench.recorder.record(bench.call()))).toBe(first)
    await bench.recordedHash(bench.recorder.record(bench.call({ callsUsedInRead: 0 })))
    await bench.clock.advanceMsSettled(30_000)
    expect(bench.recorder.figures()).toMatchObject({
      resigningsTotal: 0,
      recordedCallsTotal: 2,
      unreceiptedCalls: 0,
    })
  })

  test('A10: receipts that never come are given up in the agent’s favour; nothing is signed or counted twice', async () => {
    bench.ledger.receiptLagMs = Number.POSITIVE_INFINITY
    await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(400_000)
    expect(bench.chain.countUsed(bench.call())).toBe(1)
    expect(bench.recorder.figures()).toMatchObject({
      resigningsTotal: 0,
      missingCallsTotal: 1,
      unreceiptedCalls: 0,
    })
    expect(bench.kinds()).toContain('receipt-missing')
  })

  test('A10: a nonce gap that lasts is filled with transactions that count nothing', async () => {
    for (let at = 0; at < 3; at += 1) await bench.recordedHash(bench.recorder.record(bench.call()))
    // The ledger forgot two transactions that it had given receipts for.
    bench.chain.nonces.set('recorder', 1)
    const hash = await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(14_000)
    expect(bench.kinds()).not.toContain('nonce-gap-filled')
    await bench.clock.advanceMsSettled(46_000)
    expect(bench.kinds().filter((kind) => kind === 'nonce-gap-filled')).toHaveLength(2)
    expect(bench.chain.counted.has(hash)).toBe(true)
    expect(bench.recorder.figures()).toMatchObject({ resigningsTotal: 0, unreceiptedCalls: 0 })
  })

  test('A10: a nonce gap wider than 64 is reported and not filled', async () => {
    bench.chain.nonces.set('recorder', 100)
    await bench.recordedHash(bench.recorder.record(bench.call()))
    bench.chain.nonces.set('recorder', 0)
    await bench.recordedHash(bench.recorder.record(bench.call()))
    await bench.clock.advanceMsSettled(60_000)
    expect(bench.kinds()).toContain('nonce-gap-too-wide')
    expect(bench.kinds()).not.toContain('nonce-gap-filled')
  })

  test('A10: while 64 batches lack their receipts the sender takes no more', async () => {
    start({ quota: 1_000 })
    bench.ledger.receiptLagMs = Number.POSITIVE_INFINITY
    for (let at = 0; at < 70; at += 1) {
      void bench.recorder.record(bench.call({ agent: agentAddress(at) }))
      await bench.clock.advanceMsSettled(100)
    }
    expect(bench.recorder.figures()).toMatchObject({ sentBatches: 64, sealedBatches: 6 })
  })
})
