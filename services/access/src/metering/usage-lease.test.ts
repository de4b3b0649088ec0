import { beforeEach, describe, expect, test } from 'vitest'
import {
  agentAddress,
  countOutcomes,
  type RecorderBench,
  recordedHashes,
  START_MS,
  startRecorderBench,
  WINDOW_END_SECONDS,
} from './usage-recorder.fixture.ts'

let bench: RecorderBench

function start(options: Parameters<typeof startRecorderBench>[0] = {}): void {
  bench = startRecorderBench({ quota: 1_000, ...options })
}

const used = (): number => bench.chain.countUsed(bench.call())

beforeEach(() => start())

describe('A18: what calls cost', () => {
  test('A18: a fully used quota of 1,000 calls costs 25 transactions', async () => {
    const outcomes = await bench.callInTurn(1_001)
    expect(countOutcomes(outcomes, 'recorded')).toBe(1_000)
    expect(outcomes.at(-1)).toEqual({ kind: 'quota-spent' })
    expect(used()).toBe(1_000)
    expect(bench.recorder.figures().transactionsSentTotal).toBe(25)
  })

  test('A18: an entry counts the next 1, 2, 4 … calls, at most 50, and never more than are left', async () => {
    start({ quota: 1_130 })
    await bench.callInTurn(1_130)
    const sizes = bench.countsSent().map(([calls]) => calls)
    expect(sizes.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 50, 50])
    expect(sizes.at(-1)).toBe(1_130 - 63 - 21 * 50)
  })

  test.each([
    [200, 10],
    [40, 2],
    [20, 1],
  ])('A18: of a quota of %i calls an entry counts at most %i in advance', async (quota, most) => {
    start({ quota })
    await bench.callInTurn(quota)
    expect(Math.max(...bench.countsSent().flat())).toBe(most)
  })

  test('A18: calls that come together are one entry, and it grows only beyond them', async () => {
    await bench.callInTurn(1)
    await Promise.all(Array.from({ length: 30 }, () => bench.recorder.record(bench.call())))
    await bench.callInTurn(1)
    expect(bench.countsSent().flat()).toEqual([1, 2, 28, 8])
  })

  test('A18: a pause makes no lease shorter and sends nothing back', async () => {
    await bench.callInTurn(6)
    await bench.clock.advanceMsSettled(600_000)
    await bench.callInTurn(2)
    expect(bench.countsSent().flat()).toEqual([1, 2, 4, 8])
    expect(bench.recorder.figures()).toMatchObject({ leasedCalls: 7, givenBackCallsTotal: 0 })
  })
})

describe('A18: a covered call', () => {
  test('A18: it is answered with the hash that counted it, without a transaction, a wait or a request', async () => {
    const [hash] = recordedHashes((await bench.callInTurn(4)).slice(3))
    const { sent, receiptReads } = bench.ledger
    const sentBefore = sent.length
    bench.ledger.isUnreachable = true
    for (let at = 0; at < 3; at += 1)
      expect(await bench.recorder.record(bench.call())).toMatchObject({ transactionHash: hash })
    expect(sent).toHaveLength(sentBefore)
    expect(bench.ledger.receiptReads).toBe(receiptReads)
    expect(
      bench.chain.counted
        .get(hash ?? '')
        ?.values()
        .next().value,
    ).toBe(4)
  })

  test('A18: calls remaining count down by one and include unused leased calls, receipts late or not', async () => {
    for (const receiptLagMs of [0, 5_000]) {
      start()
      bench.ledger.receiptLagMs = receiptLagMs
      const remaining: number[] = []
      const promises = []
      for (let at = 0; at < 40; at += 1) {
        promises.push(bench.recorder.record(bench.call()))
        await bench.clock.advanceMsSettled(1_100)
      }
      for (const outcome of await Promise.all(promises))
        if (outcome.kind === 'recorded') remaining.push(outcome.callsRemaining)
      expect(remaining).toEqual(Array.from({ length: 40 }, (_, at) => 999 - at))
      expect(bench.recorder.callsRemaining(bench.call())).toBe(960)
    }
  })

  test('A18: before its entry is signed it waits for the signature, no longer', async () => {
    await bench.callInTurn(3)
    const both = [bench.recorder.record(bench.call()), bench.recorder.record(bench.call())]
    expect(new Set(recordedHashes(await Promise.all(both))).size).toBe(1)
    expect(bench.countsSent().flat()).toEqual([1, 2, 4])
  })

  test('A18: after its entry was signed anew it is answered with the current hash, before the receipt and after', async () => {
    await bench.callInTurn(3)
    bench.ledger.receiptLagMs = 5_000
    bench.ledger.consumeNonce()
    const [oldHash] = recordedHashes(await bench.callInTurn(1))
    await bench.clock.advanceMsSettled(1_000)
    const [newHash] = recordedHashes(await bench.callInTurn(1))
    await bench.clock.advanceMsSettled(6_000)
    expect(recordedHashes(await bench.callInTurn(1))).toEqual([newHash])
    expect(bench.events).toContainEqual(
      expect.objectContaining({ kind: 're-signed', oldHash, newHash }),
    )
    expect(bench.chain.counted.has(newHash ?? '')).toBe(true)
  })

  test('A18: of two signatures with one nonce it is answered with the one that was mined', async () => {
    await bench.callInTurn(3)
    // Taken without an answer, and then neither a receipt nor the nonce shows it.
    bench.ledger.receiptLagMs = 22_000
    bench.ledger.nonceLag = 1
    bench.ledger.sendFaults.push('unanswered')
    const [minedHash] = recordedHashes(await bench.callInTurn(1))
    bench.ledger.gasPriceWeibar = 500n
    await bench.clock.advanceMsSettled(25_000)
    expect(bench.kinds()).toContain('re-signed')
    expect(recordedHashes(await bench.callInTurn(1))).toEqual([minedHash])
  })

  test('A18: a lease never crosses windows', async () => {
    await bench.clock.advanceMsSettled(3_590_000)
    await bench.callInTurn(4)
    expect(bench.recorder.figures().leasedCalls).toBe(3)
    const next = {
      windowExpiresAtSeconds: WINDOW_END_SECONDS + 3_600,
      windowStartsAtSeconds: WINDOW_END_SECONDS,
    }
    await bench.clock.advanceMsSettled(11_000)
    const [hash] = recordedHashes(await bench.callInTurn(1, { call: next }))
    expect([...(bench.chain.counted.get(hash ?? '')?.keys() ?? [])]).toEqual([
      `${agentAddress(1)}/${next.windowExpiresAtSeconds}`,
    ])
  })

  test.each([1, 3])(
    'A18: calls that come after their window’s end use what its lease has left (%i that record)',
    async (recorderCount) => {
      start({ recorderCount })
      await bench.clock.advanceMsSettled(WINDOW_END_SECONDS * 1000 - START_MS - 1_000)
      await bench.callInTurn(4)
      const late = bench.call()
      const records = bench.countsSent().length
      await bench.clock.advanceMsSettled(31_000)
      // Another agent's record is when idle leases are looked for.
      await bench.callInTurn(1, { call: { agent: agentAddress(2) } })
      const outcome = await bench.currentOutcome(bench.recorder.record(late))
      expect(outcome).toMatchObject({ kind: 'recorded' })
      expect(bench.countsSent()).toHaveLength(records + 1)
      await bench.clock.advanceMsSettled(60_000)
      expect(bench.recorder.leasedCalls(late)).toBe(0)
    },
  )
})

describe('A18: a lease that is not counted covers no further call', () => {
  test('A18: reverted: answered calls are in the agent’s favour and reported', async () => {
    await bench.callInTurn(3)
    bench.ledger.receiptLagMs = 1_000
    bench.chain.isReverting = true
    const [hash] = recordedHashes((await bench.callInTurn(2)).slice(1))
    await bench.clock.advanceMsSettled(2_000)
    bench.chain.isReverting = false
    expect(bench.events).toContainEqual({ kind: 'batch-reverted', hash, calls: 2 })
    expect(bench.recorder.figures()).toMatchObject({
      revertedCallsTotal: 2,
      leasedCalls: 0,
      unreceiptedCalls: 0,
    })
    const [next] = recordedHashes(await bench.callInTurn(1))
    expect(next).not.toBe(hash)
    expect(used()).toBeGreaterThan(3)
  })

  test('A18: late: counted against no quota, reported', async () => {
    await bench.callInTurn(3)
    bench.ledger.receiptLagMs = 1_000
    bench.chain.closedWindows.add(`${agentAddress(1)}/${WINDOW_END_SECONDS}`)
    await bench.callInTurn(2)
    await bench.clock.advanceMsSettled(2_000)
    expect(bench.recorder.figures()).toMatchObject({ lateCallsTotal: 2, leasedCalls: 0 })
    expect(bench.kinds()).toContain('usage-late')
  })

  test('A18: refused: answered calls are in the agent’s favour and reported', async () => {
    await bench.callInTurn(3)
    const stale = bench.call()
    bench.ledger.receiptLagMs = 1_000
    for (let at = 0; at < 997; at += 1) bench.chain.countOutside(bench.call())
    await bench.currentOutcome(bench.recorder.record(stale))
    await bench.currentOutcome(bench.recorder.record(stale))
    await bench.clock.advanceMsSettled(2_000)
    expect(bench.recorder.figures()).toMatchObject({ refusedCallsTotal: 2, leasedCalls: 0 })
    expect(bench.events).toContainEqual(
      expect.objectContaining({ kind: 'usage-refused', calls: 2 }),
    )
  })

  test('A18: without a receipt for two minutes: given up, and not used further', async () => {
    await bench.callInTurn(3)
    bench.ledger.receiptLagMs = Number.POSITIVE_INFINITY
    const [hash] = recordedHashes((await bench.callInTurn(2)).slice(1))
    await bench.clock.advanceMsSettled(200_000)
    expect(bench.recorder.figures()).toMatchObject({ missingCallsTotal: 2, leasedCalls: 0 })
    expect(bench.events).toContainEqual({ kind: 'receipt-missing', hash, calls: 2 })
  })
})

test('A9, A18: in a window that nothing shows as begun at most 3 calls are out, leased ones included', async () => {
  bench.ledger.blockSeconds = START_MS / 1000 - 1
  bench.ledger.receiptLagMs = 3_000
  expect(recordedHashes(await bench.callInTurn(3, { call: { callsUsedInRead: 0 } }))).toHaveLength(
    3,
  )
  expect(bench.countsSent().flat()).toEqual([1, 2])
  const fourth = bench.recorder.record(bench.call({ callsUsedInRead: 0 }))
  expect(await bench.currentOutcome(fourth)).toBe('open')
  await bench.clock.advanceMsSettled(4_000)
  expect(await bench.currentOutcome(fourth)).toMatchObject({ kind: 'recorded' })
  expect(bench.countsSent().flat()).toEqual([1, 2, 4])
})

test('A9, A18: after reverts, too, a lease in such a window leaves at most 3 calls out', async () => {
  bench.ledger.blockSeconds = START_MS / 1000 - 1
  bench.chain.isReverting = true
  await bench.callInTurn(3, { call: { callsUsedInRead: 0 } })
  expect(bench.countsSent().flat()).toEqual([1, 2, 3])
})
