import { beforeEach, describe, expect, test } from 'vitest'
import {
  agentOf,
  countOf,
  type RecorderBench,
  START_MS,
  startRecorderBench,
  WINDOW_END_SECONDS,
} from './usage-recorder.fixture.ts'
import { createUsageRecorder, type UsageCall, type UsageOutcome } from './usage-recorder.ts'

let bench: RecorderBench

function start(options: Parameters<typeof startRecorderBench>[0] = {}): void {
  bench = startRecorderBench({ quota: 1_000, ...options })
}

/** One call after another, each with a fresh read. */
async function callInTurn(
  count: number,
  options: { recorder?: typeof bench.recorder; call?: Partial<UsageCall> } = {},
): Promise<UsageOutcome[]> {
  const { recorder = bench.recorder, call = {} } = options
  const outcomes: UsageOutcome[] = []
  for (let at = 0; at < count; at += 1) {
    const outcome = await bench.outcomeOf(recorder.record(bench.call(call)))
    if (outcome !== 'open') outcomes.push(outcome)
  }
  return outcomes
}

const hashesOf = (outcomes: readonly UsageOutcome[]): string[] =>
  outcomes.flatMap((outcome) => (outcome.kind === 'recorded' ? [outcome.transactionHash] : []))

/** What each transaction asked the contract to count, in order. */
const countsSent = (ledger = bench.ledger): number[][] =>
  ledger.sent.map((raw) => JSON.parse(raw).entries.map(({ calls }: { calls: number }) => calls))

const used = (): number => bench.chain.usedOf(bench.call())

beforeEach(() => start())

describe('A18: what calls cost', () => {
  test('A18: a fully used quota of 1,000 calls costs at most 27 transactions', async () => {
    const outcomes = await callInTurn(1_001)
    expect(countOf(outcomes, 'recorded')).toBe(1_000)
    expect(outcomes.at(-1)).toEqual({ kind: 'quota-spent' })
    expect(used()).toBe(1_000)
    expect(bench.recorder.figures().transactionsSentTotal).toBeLessThanOrEqual(27)
  })

  test('A18: an entry counts the next 1, 2, 4 … calls, at most 50, and never more than are left', async () => {
    start({ quota: 1_130 })
    await callInTurn(1_130)
    const sizes = countsSent().map(([calls]) => calls)
    expect(sizes.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 50, 50])
    expect(sizes.at(-1)).toBe(1_130 - 63 - 21 * 50)
  })

  test.each([
    [200, 10],
    [40, 2],
    [20, 1],
  ])('A18: of a quota of %i calls an entry counts at most %i in advance', async (quota, most) => {
    start({ quota })
    await callInTurn(quota)
    expect(Math.max(...countsSent().flat())).toBe(most)
  })

  test('A18: calls that come together are one entry, and it grows only beyond them', async () => {
    await callInTurn(1)
    await Promise.all(Array.from({ length: 30 }, () => bench.recorder.record(bench.call())))
    await callInTurn(1)
    expect(countsSent().flat()).toEqual([1, 2, 28, 8])
  })

  test('A18: after 30 s without a call leases begin at 1 again', async () => {
    await callInTurn(7)
    await bench.clock.advanceMsSettled(30_000)
    await callInTurn(3)
    expect(countsSent().flat()).toEqual([1, 2, 4, 1, 2])
  })
})

describe('A18: a covered call', () => {
  test('A18: it is answered with the hash that counted it, without a transaction, a wait or a request', async () => {
    const [hash] = hashesOf((await callInTurn(4)).slice(3))
    const { sent, receiptReads } = bench.ledger
    const sentBefore = sent.length
    bench.ledger.isUnreachable = true
    for (let at = 0; at < 3; at += 1)
      expect(await bench.recorder.record(bench.call())).toMatchObject({ transactionHash: hash })
    expect(sent).toHaveLength(sentBefore)
    expect(bench.ledger.receiptReads).toBe(receiptReads)
    expect(bench.chain.counted.get(hash ?? '')?.values().next().value).toBe(4)
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
    await callInTurn(3)
    const both = [bench.recorder.record(bench.call()), bench.recorder.record(bench.call())]
    expect(new Set(hashesOf(await Promise.all(both))).size).toBe(1)
    expect(countsSent().flat()).toEqual([1, 2, 4])
  })

  test('A18: after its entry was signed anew it is answered with the current hash', async () => {
    await callInTurn(3)
    bench.ledger.consumeNonce()
    const [oldHash] = hashesOf(await callInTurn(1))
    await bench.clock.advanceMsSettled(1_000)
    const [hash] = hashesOf(await callInTurn(1))
    expect(bench.events).toContainEqual(
      expect.objectContaining({ kind: 're-signed', oldHash, newHash: hash }),
    )
    expect(bench.chain.counted.has(hash ?? '')).toBe(true)
  })

  test('A18: a lease never crosses windows', async () => {
    await callInTurn(4)
    const next = {
      windowExpiresAtSeconds: WINDOW_END_SECONDS + 3_600,
      windowStartsAtSeconds: WINDOW_END_SECONDS,
    }
    await bench.clock.advanceMsSettled(3_600_000)
    const [hash] = hashesOf(await callInTurn(1, { call: next }))
    expect([...(bench.chain.counted.get(hash ?? '')?.keys() ?? [])]).toEqual([
      `${agentOf(1)}/${next.windowExpiresAtSeconds}`,
    ])
  })
})

describe('A18: unused calls go back', () => {
  test('A18: after 30 s without a call', async () => {
    await callInTurn(4)
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
    expect(await callInTurn(1)).toMatchObject([{ callsRemaining: 995 }])
  })

  test('A18: with the next record: a call before that is sealed uses one, and the rest go back in one entry', async () => {
    await callInTurn(4)
    bench.ledger.sendMs = 90
    void bench.recorder.record(bench.call({ agent: agentOf(2) }))
    await bench.clock.advanceMsSettled(29_950)
    void bench.recorder.record(bench.call({ agent: agentOf(3) }))
    await bench.clock.advanceMsSettled(50)
    expect(hashesOf(await callInTurn(1))).toHaveLength(1)
    await bench.clock.advanceMsSettled(1_000)
    expect(countsSent().at(-1)).toEqual([-2])
    expect(used()).toBe(5)
  })

  test('A18: many that are idle go back in one transaction', async () => {
    const agents = [1, 2, 3].map((number) => agentOf(number))
    for (const agent of agents) {
      await callInTurn(4, { call: { agent } })
      await bench.clock.advanceMsSettled(300)
    }
    await bench.clock.advanceMsSettled(32_000)
    expect(countsSent().filter((counts) => counts.some((calls) => calls < 0))).toEqual([
      [-3],
      [-3, -3],
    ])
  })

  test('A18: at SIGTERM, and the next process finds the whole rest of the quota', async () => {
    await callInTurn(70)
    expect(used()).toBeGreaterThan(70)
    const closed = bench.recorder.close()
    await bench.clock.advanceMsSettled(1_000)
    await closed
    expect(used()).toBe(70)
    expect(bench.clock.pendingCount()).toBe(0)
  })

  test('A18: at SIGTERM a lease whose receipt is still to come goes back after it', async () => {
    bench.ledger.receiptLagMs = 3_000
    await callInTurn(4)
    const closed = bench.recorder.close()
    await bench.clock.advanceMsSettled(2_000)
    expect(used()).toBe(7)
    await bench.clock.advanceMsSettled(3_000)
    await closed
    expect(used()).toBe(4)
  })

  test('A18: what a shutdown cannot give back is reported as lost', async () => {
    bench.ledger.receiptLagMs = 60_000
    await callInTurn(4)
    const closed = bench.recorder.close()
    await bench.clock.advanceMsSettled(5_000)
    await closed
    expect(bench.recorder.figures().lostLeasedCallsTotal).toBe(3)
    expect(bench.events).toContainEqual(expect.objectContaining({ kind: 'lease-lost', calls: 3 }))
    expect(bench.clock.pendingCount()).toBe(0)
  })

  test('A18: 429 is not said while any are on their way back', async () => {
    start({ quota: 40 })
    await callInTurn(2)
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
    await callInTurn(4)
    await bench.clock.advanceMsSettled(120_000)
    expect(countsSent().flat()).toEqual([1, 2, 4])
    expect(bench.recorder.figures()).toMatchObject({ leasedCalls: 0, lostLeasedCallsTotal: 0 })
  })

  test('A18: a lease that no receipt counts yet is not given back: it might never have counted', async () => {
    bench.ledger.receiptLagMs = 50_000
    await callInTurn(4)
    await bench.clock.advanceMsSettled(49_000)
    expect(countsSent().flat().every((calls) => calls > 0)).toBe(true)
    await bench.clock.advanceMsSettled(60_000)
    expect(used()).toBe(4)
  })

  test('A18: a give-back that reverts is lost and reported, not tried for ever', async () => {
    await callInTurn(4)
    bench.chain.isReverting = true
    await bench.clock.advanceMsSettled(120_000)
    expect(countsSent().flat()).toEqual([1, 2, 4, -3])
    expect(bench.recorder.figures()).toMatchObject({ lostLeasedCallsTotal: 3, leasedCalls: 0 })
  })
})

describe('A18: a lease that is not counted covers no further call', () => {
  test('A18: reverted: answered calls are in the agent’s favour and reported', async () => {
    await callInTurn(3)
    bench.ledger.receiptLagMs = 1_000
    bench.chain.isReverting = true
    const [hash] = hashesOf((await callInTurn(2)).slice(1))
    await bench.clock.advanceMsSettled(2_000)
    bench.chain.isReverting = false
    expect(bench.events).toContainEqual({ kind: 'batch-reverted', hash, calls: 2 })
    expect(bench.recorder.figures()).toMatchObject({
      revertedCallsTotal: 2,
      leasedCalls: 0,
      unreceiptedCalls: 0,
    })
    const [next] = hashesOf(await callInTurn(1))
    expect(next).not.toBe(hash)
    expect(used()).toBeGreaterThan(3)
  })

  test('A18: late: counted against no quota, reported', async () => {
    await callInTurn(3)
    bench.ledger.receiptLagMs = 1_000
    bench.chain.closedWindows.add(`${agentOf(1)}/${WINDOW_END_SECONDS}`)
    await callInTurn(2)
    await bench.clock.advanceMsSettled(2_000)
    expect(bench.recorder.figures()).toMatchObject({ lateCallsTotal: 2, leasedCalls: 0 })
    expect(bench.kinds()).toContain('usage-late')
  })

  test('A18: refused: answered calls are in the agent’s favour and reported', async () => {
    await callInTurn(3)
    const stale = bench.call()
    bench.ledger.receiptLagMs = 1_000
    for (let at = 0; at < 997; at += 1) bench.chain.countOutside(bench.call())
    await bench.outcomeOf(bench.recorder.record(stale))
    await bench.outcomeOf(bench.recorder.record(stale))
    await bench.clock.advanceMsSettled(2_000)
    expect(bench.recorder.figures()).toMatchObject({ refusedCallsTotal: 2, leasedCalls: 0 })
    expect(bench.events).toContainEqual(
      expect.objectContaining({ kind: 'usage-refused', calls: 2 }),
    )
  })

  test('A18: without a receipt for two minutes: given up, and not used further', async () => {
    await callInTurn(3)
    bench.ledger.receiptLagMs = Number.POSITIVE_INFINITY
    const [hash] = hashesOf((await callInTurn(2)).slice(1))
    await bench.clock.advanceMsSettled(200_000)
    expect(bench.recorder.figures()).toMatchObject({ missingCallsTotal: 2, leasedCalls: 0 })
    expect(bench.events).toContainEqual({ kind: 'receipt-missing', hash, calls: 2 })
  })
})

describe('A18: several recorders', () => {
  test('A18: while replicas live a shortage ends after 30 s and a receipt', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    const { recorder, ledger } = bench.another()
    for (let at = 0; at < 880; at += 1) bench.chain.countOutside(bench.call())
    await callInTurn(12)
    for (let at = used(); at < 1_000; at += 1) bench.chain.countOutside(bench.call())
    const shortBy = bench.recorder.figures().leasedCalls
    expect(shortBy).toBeGreaterThan(0)
    expect(await callInTurn(1, { recorder })).toEqual([{ kind: 'quota-spent' }])
    ledger.receiptLagMs = 3_000
    await bench.clock.advanceMsSettled(33_000)
    expect(recorder.callsRemaining(bench.call())).toBe(shortBy)
    const served = recorder.record(bench.call())
    await bench.clock.advanceMsSettled(4_000)
    expect(await served).toMatchObject({ kind: 'recorded' })
  })

  test('A18: when another process’s leases leave under 10 % the rest goes back at once, and nothing more is leased', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    await callInTurn(10)
    const unused = bench.recorder.figures().leasedCalls
    expect(unused).toBeGreaterThan(1)
    for (let at = used(); at < 920; at += 1) bench.chain.countOutside(bench.call())
    await callInTurn(1)
    await bench.settle()
    expect(countsSent().at(-1)).toEqual([1 - unused])
    await callInTurn(3)
    expect(countsSent().slice(-3)).toEqual([[1], [1], [1]])
  })

  test('A18: alone among several, a process leases smaller and smaller parts of what is left', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    await callInTurn(1_000)
    const sizes = countsSent().flat()
    expect(used()).toBe(1_000)
    expect(Math.min(...sizes)).toBe(1)
    expect(sizes.length).toBeLessThan(60)
  })

  test('A11, A18: near the end a covered call waits for its lease’s receipt; once that counts, no longer', async () => {
    start({ quota: 200, recorderCount: 2 })
    await callInTurn(7)
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
    await callInTurn(3)
    const stale = bench.call()
    for (let at = used(); at < 199; at += 1) bench.chain.countOutside(bench.call())
    const outcome = await bench.outcomeOf(bench.recorder.record(stale))
    expect(outcome).toMatchObject({ kind: 'recorded' })
    expect(countsSent().slice(-2)).toEqual([[4], [1]])
    expect(used()).toBe(200)
  })

  test('A11, A18: leased calls are among the 50 that no chain read shows yet', async () => {
    start({ quota: 2_000, recorderCount: 2 })
    const lagging = { callsUsedInRead: 0 }
    await callInTurn(50, { call: lagging })
    expect(used()).toBe(50)
    const next = bench.recorder.record(bench.call(lagging))
    expect(await bench.outcomeOf(next)).toBe('open')
    await bench.clock.advanceMsSettled(1_000)
    expect(await bench.outcomeOf(next)).toMatchObject({ kind: 'recorded' })
  })
})

describe('A18: a killed process', () => {
  test('A18: a quota is short by at most 5 % for each', async () => {
    let answered = 0
    for (let kill = 0; kill < 3; kill += 1) {
      const { ledger, clock } = bench
      const recorder = createUsageRecorder({ ledger, clock, recorderCount: 1 })
      answered += countOf(await callInTurn(64, { recorder }), 'recorded')
      // Killed: nobody asks it any more, and nothing of it reaches the ledger.
      bench.ledger.isDead = true
      await bench.clock.advanceMsSettled(60_000)
      bench.ledger.isDead = false
    }
    expect(used() - answered).toBe(3 * 49)
  })
})

test('A9, A18: in a window that nothing shows as begun at most 3 calls are out, leased ones included', async () => {
  bench.ledger.blockSeconds = START_MS / 1000 - 1
  bench.ledger.receiptLagMs = 3_000
  expect(hashesOf(await callInTurn(3, { call: { callsUsedInRead: 0 } }))).toHaveLength(3)
  expect(countsSent().flat()).toEqual([1, 2])
  const fourth = bench.recorder.record(bench.call({ callsUsedInRead: 0 }))
  expect(await bench.outcomeOf(fourth)).toBe('open')
  await bench.clock.advanceMsSettled(4_000)
  expect(await bench.outcomeOf(fourth)).toMatchObject({ kind: 'recorded' })
  expect(countsSent().flat()).toEqual([1, 2, 4])
})
