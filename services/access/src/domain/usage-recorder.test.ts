import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { beforeEach, describe, expect, test } from 'vitest'
import type { UsageEvent } from './usage-event.ts'
import { FakeUsageChain, FakeUsageLedger } from './usage-ledger-fake.ts'
import {
  createUsageRecorder,
  type UsageCall,
  type UsageOutcome,
  type UsageRecorder,
} from './usage-recorder.ts'

const START_MS = 1_700_000_000_000
const WINDOW_END_SECONDS = START_MS / 1000 + 3600

let clock: ManualClock
let chain: FakeUsageChain
let ledger: FakeUsageLedger
let recorder: UsageRecorder
let events: UsageEvent[]

function start(options: { quota?: number; recorderCount?: number } = {}): void {
  clock = manualClock(START_MS)
  chain = new FakeUsageChain(options.quota ?? 20)
  ledger = new FakeUsageLedger({ chain, clock })
  events = []
  recorder = createUsageRecorder({
    ledger,
    clock,
    recorderCount: options.recorderCount ?? 1,
    onEvent: (event) => events.push(event),
  })
}

beforeEach(() => start())

const agentOf = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`

/** A call as admitted by a read made now. */
function call(overrides: Partial<UsageCall> = {}): UsageCall {
  const agent = overrides.agent ?? agentOf(1)
  const windowExpiresAtSeconds = overrides.windowExpiresAtSeconds ?? WINDOW_END_SECONDS
  return {
    agent,
    windowExpiresAtSeconds,
    callsAllowed: chain.quota,
    callsUsedInRead: chain.usedOf({ agent, windowExpiresAtSeconds }),
    ...overrides,
  }
}

const settle = (): Promise<void> => clock.advanceMsSettled(0)

/** The outcome, without passing time for it. */
async function outcomeOf(promise: Promise<UsageOutcome>): Promise<UsageOutcome | 'open'> {
  await settle()
  return Promise.race([promise, Promise.resolve('open' as const)])
}

async function recordedHash(promise: Promise<UsageOutcome>): Promise<string> {
  const outcome = await outcomeOf(promise)
  if (outcome === 'open' || outcome.kind !== 'recorded')
    throw new Error(`not recorded: ${JSON.stringify(outcome)}`)
  return outcome.transactionHash
}

const kinds = (): string[] => events.map((event) => event.kind)
const countOf = (outcomes: readonly UsageOutcome[], kind: UsageOutcome['kind']): number =>
  outcomes.filter((outcome) => outcome.kind === kind).length

describe('A9: what remains', () => {
  test('A9: 30 calls in one tick on a quota of 20: 20 are recorded, 10 find it spent, the chain counts 20', async () => {
    const promises = Array.from({ length: 30 }, () => recorder.record(call()))
    await clock.advanceMsSettled(1_000)
    const outcomes = await Promise.all(promises)
    expect([countOf(outcomes, 'recorded'), countOf(outcomes, 'quota-spent')]).toEqual([20, 10])
    expect(chain.usedOf(call())).toBe(20)
  })

  test('A9: the answer carries the hash of the transaction that records the call', async () => {
    const hash = await recordedHash(recorder.record(call()))
    expect(chain.counted.get(hash)?.values().next().value).toBe(1)
  })

  test('A9: the hash is known when it is signed; a call does not wait for sending or receipt', async () => {
    ledger.sendMs = 60_000
    expect(await outcomeOf(recorder.record(call()))).toMatchObject({ kind: 'recorded' })
    expect(ledger.sent).toHaveLength(0)
  })

  test('A9: calls remaining count down by one, though the read shows calls before their receipts are read', async () => {
    const remaining: number[] = []
    for (let at = 0; at < 20; at += 1) {
      const outcome = await outcomeOf(recorder.record(call()))
      if (outcome !== 'open' && outcome.kind === 'recorded') remaining.push(outcome.callsRemaining)
    }
    expect(remaining).toEqual(Array.from({ length: 20 }, (_, at) => 19 - at))
    expect(await outcomeOf(recorder.record(call()))).toEqual({ kind: 'quota-spent' })
  })

  test('A9: a read that shows an unreceipted call makes its receipt be fetched before the next one is counted', async () => {
    ledger.receiptLagMs = 100
    await recordedHash(recorder.record(call({ callsUsedInRead: 0 })))
    await clock.advanceMsSettled(150)
    expect(recorder.figures().unreceiptedCalls).toBe(1)
    expect(await outcomeOf(recorder.record(call()))).toMatchObject({ callsRemaining: 18 })
  })

  test('A9: a read that lags behind the last receipt leaves the receipt standing', async () => {
    for (let at = 0; at < 5; at += 1)
      await recordedHash(recorder.record(call({ callsUsedInRead: 0 })))
    const last = await outcomeOf(recorder.record(call({ callsUsedInRead: 0 })))
    expect(last).toMatchObject({ callsRemaining: 14 })
    expect(recorder.callsRemaining(call({ callsUsedInRead: 0 }))).toBe(14)
  })

  test('A9: a call is counted at most once against its agent: where receipts lag behind the read it waits, and is served', async () => {
    ledger.receiptLagMs = 3_000
    for (let at = 0; at < 10; at += 1)
      await recordedHash(recorder.record(call({ callsUsedInRead: 0 })))
    const eleventh = recorder.record(call())
    expect(call().callsUsedInRead).toBe(10)
    expect(await outcomeOf(eleventh)).toBe('open')
    await clock.advanceMsSettled(5_000)
    expect(await outcomeOf(eleventh)).toMatchObject({ kind: 'recorded', callsRemaining: 9 })
  })

  test('A9: a call that waits for such receipts in vain is unavailable after 10 s, not quota-spent', async () => {
    ledger.receiptLagMs = 600_000
    for (let at = 0; at < 10; at += 1)
      await recordedHash(recorder.record(call({ callsUsedInRead: 0 })))
    const eleventh = recorder.record(call())
    await clock.advanceMsSettled(9_999)
    expect(await outcomeOf(eleventh)).toBe('open')
    await clock.advanceMsSettled(1)
    expect(await outcomeOf(eleventh)).toEqual({ kind: 'unavailable' })
    expect(recorder.figures()).toMatchObject({ waitingCalls: 0, expiredCallsTotal: 1 })
  })

  test('A9: a call counted outside this process (openPaid) is taken from what remains', async () => {
    chain.countOutside(call())
    expect(await outcomeOf(recorder.record(call()))).toMatchObject({ callsRemaining: 18 })
  })

  test('A9: each window has its own quota', async () => {
    for (let at = 0; at < 20; at += 1) await recordedHash(recorder.record(call()))
    const next = call({ windowExpiresAtSeconds: WINDOW_END_SECONDS + 3600 })
    expect(await outcomeOf(recorder.record(next))).toMatchObject({ callsRemaining: 19 })
  })
})

describe('A10: sealing', () => {
  test('A10: at low load each call is one transaction', async () => {
    for (let at = 0; at < 5; at += 1) {
      await recordedHash(recorder.record(call()))
      await clock.advanceMsSettled(200)
    }
    expect(recorder.figures()).toMatchObject({ transactionsSentTotal: 5, recordedCallsTotal: 5 })
  })

  test('A10: under load calls share transactions, and one agent is one entry per window', async () => {
    ledger.sendMs = 50
    const first = recorder.record(call())
    await settle()
    const rest = Array.from({ length: 15 }, () => recorder.record(call()))
    await clock.advanceMsSettled(500)
    const hashes = await Promise.all([first, ...rest].map(recordedHash))
    expect(new Set(hashes).size).toBe(2)
    expect(ledger.sent.map((raw) => JSON.parse(raw).entries)).toEqual([
      [{ agent: agentOf(1), calls: 1, windowExpiresAtSeconds: WINDOW_END_SECONDS }],
      [{ agent: agentOf(1), calls: 15, windowExpiresAtSeconds: WINDOW_END_SECONDS }],
    ])
  })

  test('A10: while the sender is busy a batch is sealed after 100 ms', async () => {
    ledger.sendMs = 5_000
    await recordedHash(recorder.record(call()))
    const second = recorder.record(call())
    await clock.advanceMsSettled(99)
    expect(await outcomeOf(second)).toBe('open')
    await clock.advanceMsSettled(1)
    expect(await outcomeOf(second)).toMatchObject({ kind: 'recorded' })
  })

  test('A10: while the sender is busy a batch is sealed at 50 agents', async () => {
    ledger.sendMs = 5_000
    await recordedHash(recorder.record(call()))
    const some = Array.from({ length: 49 }, (_, at) =>
      recorder.record(call({ agent: agentOf(at + 2) })),
    )
    expect(await outcomeOf(Promise.race(some))).toBe('open')
    some.push(recorder.record(call({ agent: agentOf(60) })))
    expect(new Set(await Promise.all(some.map(recordedHash))).size).toBe(1)
  })

  test('A10: while four sealed batches wait it stays open, to 500 agents, until one has gone', async () => {
    ledger.sendMs = 3_000
    ledger.receiptLagMs = Number.POSITIVE_INFINITY
    await recordedHash(recorder.record(call()))
    for (let batch = 0; batch < 4; batch += 1) {
      void recorder.record(call())
      await clock.advanceMsSettled(100)
    }
    expect(recorder.figures().sealedBatches).toBe(4)
    const open = Array.from({ length: 500 }, (_, at) =>
      recorder.record(call({ agent: agentOf(at + 2) })),
    )
    expect(await outcomeOf(recorder.record(call({ agent: agentOf(900) })))).toEqual({
      kind: 'unavailable',
    })
    await clock.advanceMsSettled(2_000)
    expect(recorder.figures()).toMatchObject({ sealedBatches: 4, openBatchCalls: 500 })
    await clock.advanceMsSettled(1_000)
    expect(recorder.figures()).toMatchObject({ sealedBatches: 4, openBatchCalls: 0 })
    expect(new Set(await Promise.all(open.map(recordedHash))).size).toBe(1)
    void recorder.record(call({ callsUsedInRead: 0 }))
    await clock.advanceMsSettled(2_500)
    expect(recorder.figures()).toMatchObject({ sealedBatches: 4, openBatchCalls: 1 })
    await clock.advanceMsSettled(150)
    expect(recorder.figures()).toMatchObject({ sealedBatches: 4, openBatchCalls: 0 })
  })

  test('A10: a call not sealed within 10 s is taken out, is unavailable, and is not recorded', async () => {
    ledger.sendMs = 60_000
    for (let batch = 0; batch < 5; batch += 1) {
      void recorder.record(call())
      await clock.advanceMsSettled(100)
    }
    const late = recorder.record(call())
    await clock.advanceMsSettled(9_999)
    expect(await outcomeOf(late)).toBe('open')
    await clock.advanceMsSettled(1)
    expect(await outcomeOf(late)).toEqual({ kind: 'unavailable' })
    await clock.advanceMsSettled(600_000)
    expect(chain.usedOf(call())).toBe(5)
  })

  test('A10: an unreachable ledger makes calls unavailable after 10 s and serves again when it is back', async () => {
    ledger.isUnreachable = true
    const first = recorder.record(call())
    await clock.advanceMsSettled(10_000)
    expect(await outcomeOf(first)).toEqual({ kind: 'unavailable' })
    ledger.isUnreachable = false
    await clock.advanceMsSettled(4_000)
    expect(await outcomeOf(recorder.record(call()))).toMatchObject({ callsRemaining: 19 })
  })

  test('A10: signed bytes offer twice the quoted gas price', async () => {
    await recordedHash(recorder.record(call()))
    expect(JSON.parse(ledger.sent[0] ?? '').gasPriceWeibar).toBe('200')
  })

  test('A10: transactions leave in order of their nonces, one at a time', async () => {
    ledger.sendMs = 20
    for (let at = 0; at < 15; at += 1) {
      void recorder.record(call())
      await clock.advanceMsSettled(7)
    }
    await clock.advanceMsSettled(1_000)
    const nonces = ledger.sent.map((raw) => JSON.parse(raw).nonce)
    expect(nonces).toEqual(nonces.map((_, at) => at))
    expect(recorder.figures().recordedCallsTotal).toBe(15)
  })
})

describe('A10: sending again and signing anew', () => {
  test.each(['lost', 'unanswered'] as const)(
    'A10: after a request that was %s the same bytes are sent again, and the call counts once',
    async (fault) => {
      ledger.sendFaults.push(fault)
      const hash = await recordedHash(recorder.record(call()))
      await clock.advanceMsSettled(5_000)
      expect(new Set(ledger.sent).size).toBe(1)
      expect(chain.counted.has(hash)).toBe(true)
      expect(chain.usedOf(call())).toBe(1)
      expect(recorder.figures()).toMatchObject({ resigningsTotal: 0, unreceiptedCalls: 0 })
    },
  )

  test('A10: a dropped transaction and all after it are sent again, in order and unchanged', async () => {
    ledger.sendFaults.push('dropped', null, null)
    const promises = []
    for (let at = 0; at < 3; at += 1) {
      promises.push(recorder.record(call()))
      await clock.advanceMsSettled(100)
    }
    const hashes = await Promise.all(promises.map(recordedHash))
    await clock.advanceMsSettled(30_000)
    expect(hashes.every((hash) => chain.counted.has(hash))).toBe(true)
    expect(chain.usedOf(call())).toBe(3)
    expect(recorder.figures()).toMatchObject({ resigningsTotal: 0, unreceiptedCalls: 0 })
    expect(recorder.figures().resendsTotal).toBeGreaterThan(0)
  })

  test('A10: a nonce that something else consumed forces a new signature, counted and reported with both hashes', async () => {
    await recordedHash(recorder.record(call()))
    ledger.consumeNonce()
    const oldHash = await recordedHash(recorder.record(call()))
    await clock.advanceMsSettled(1_000)
    const resigned = events.find((event) => event.kind === 're-signed')
    expect(resigned).toMatchObject({ reason: 'nonce-consumed', oldHash, calls: 1, nonce: 2 })
    expect(chain.counted.has(resigned?.kind === 're-signed' ? resigned.newHash : '')).toBe(true)
    expect(chain.usedOf(call())).toBe(2)
    expect(recorder.figures().resigningsTotal).toBe(1)
  })

  test('A10: batches that wait behind a consumed nonce keep their own bytes', async () => {
    ledger.sendMs = 1_000
    const first = await recordedHash(recorder.record(call()))
    const second = recorder.record(call())
    await clock.advanceMsSettled(100)
    ledger.consumeNonce()
    await clock.advanceMsSettled(10_000)
    expect(chain.counted.has(first)).toBe(false)
    expect(chain.counted.has(await recordedHash(second))).toBe(true)
    expect(chain.usedOf(call())).toBe(2)
    expect(recorder.figures()).toMatchObject({ resigningsTotal: 1, unreceiptedCalls: 0 })
  })

  test('A10: a process that restarts on a lagging nonce signs anew instead of losing its first calls', async () => {
    for (let at = 0; at < 4; at += 1) await recordedHash(recorder.record(call()))
    ledger.nonceLag = 3
    const restarted = createUsageRecorder({ ledger, clock, recorderCount: 1 })
    await recordedHash(restarted.record(call()))
    await clock.advanceMsSettled(5_000)
    expect(chain.usedOf(call())).toBe(5)
    expect(restarted.figures().unreceiptedCalls).toBe(0)
  })

  test('A10: a gas price no longer accepted forces a new signature with the same nonce, reported with both hashes', async () => {
    await recordedHash(recorder.record(call()))
    ledger.gasPriceWeibar = 500n
    const oldHash = await recordedHash(recorder.record(call()))
    await clock.advanceMsSettled(1_000)
    expect(events.find((event) => event.kind === 're-signed')).toMatchObject({
      reason: 'gas-price-too-low',
      oldHash,
      nonce: 1,
    })
    expect(chain.usedOf(call())).toBe(2)
    expect(recorder.figures().unreceiptedCalls).toBe(0)
  })

  test('A10: a refused gas price that the ledger quotes no better leaves the bytes as they are until it does', async () => {
    await recordedHash(recorder.record(call()))
    ledger.quotedWeibar = 100n
    ledger.gasPriceWeibar = 500n
    await recordedHash(recorder.record(call()))
    await clock.advanceMsSettled(20_000)
    expect(recorder.figures().resigningsTotal).toBe(0)
    ledger.quotedWeibar = 500n
    await clock.advanceMsSettled(5_000)
    expect(recorder.figures()).toMatchObject({ resigningsTotal: 1, unreceiptedCalls: 0 })
  })

  test('A10: pauses between attempts double to 4 s and begin anew after a success', async () => {
    for (let outage = 0; outage < 2; outage += 1) {
      events.length = 0
      ledger.hasFunds = false
      await recordedHash(recorder.record(call()))
      await clock.advanceMsSettled(11_000)
      expect(events.flatMap((event) => ('retryMs' in event ? [event.retryMs] : []))).toEqual([
        250, 500, 1_000, 2_000, 4_000, 4_000,
      ])
      ledger.hasFunds = true
      await clock.advanceMsSettled(5_000)
    }
  })

  test('A10: without gas money the bytes wait unchanged, and are sent when there is some', async () => {
    ledger.hasFunds = false
    const hash = await recordedHash(recorder.record(call()))
    await clock.advanceMsSettled(20_000)
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'ledger-failed', reason: 'insufficient-funds' }),
    )
    ledger.hasFunds = true
    await clock.advanceMsSettled(5_000)
    expect(chain.counted.has(hash)).toBe(true)
    expect(new Set(ledger.sent).size).toBe(1)
  })

  test('A10: a nonce consumed after the ledger took the bytes is proved by a later receipt before signing anew', async () => {
    ledger.sendFaults.push('dropped')
    await recordedHash(recorder.record(call()))
    ledger.consumeNonce()
    await clock.advanceMsSettled(14_000)
    expect(recorder.figures().resigningsTotal).toBe(0)
    await clock.advanceMsSettled(30_000)
    expect(recorder.figures()).toMatchObject({ resigningsTotal: 1, unreceiptedCalls: 0 })
    expect(chain.usedOf(call())).toBe(1)
  })

  test('A10: a receipt that shows just as a later one proves its absence is believed: nothing is signed anew', async () => {
    const first = await recordedHash(recorder.record(call()))
    let isLaterShown = false
    start()
    ledger.hidesReceipt = (hash) => {
      if (hash !== first) isLaterShown = true
      return hash === first && !isLaterShown
    }
    expect(await recordedHash(recorder.record(call()))).toBe(first)
    await recordedHash(recorder.record(call({ callsUsedInRead: 0 })))
    await clock.advanceMsSettled(30_000)
    expect(recorder.figures()).toMatchObject({
      resigningsTotal: 0,
      recordedCallsTotal: 2,
      unreceiptedCalls: 0,
    })
  })

  test('A10: receipts that never come are given up in the agent’s favour; nothing is signed or counted twice', async () => {
    ledger.receiptLagMs = Number.POSITIVE_INFINITY
    await recordedHash(recorder.record(call()))
    await clock.advanceMsSettled(400_000)
    expect(chain.usedOf(call())).toBe(1)
    expect(recorder.figures()).toMatchObject({
      resigningsTotal: 0,
      missingCallsTotal: 1,
      unreceiptedCalls: 0,
    })
    expect(kinds()).toContain('receipt-missing')
  })

  test('A10: a nonce gap that lasts is filled with transactions that count nothing', async () => {
    for (let at = 0; at < 3; at += 1) await recordedHash(recorder.record(call()))
    // The ledger forgot two transactions that it had given receipts for.
    chain.nonces.set('recorder', 1)
    const hash = await recordedHash(recorder.record(call()))
    await clock.advanceMsSettled(14_000)
    expect(kinds()).not.toContain('nonce-gap-filled')
    await clock.advanceMsSettled(46_000)
    expect(kinds().filter((kind) => kind === 'nonce-gap-filled')).toHaveLength(2)
    expect(chain.counted.has(hash)).toBe(true)
    expect(recorder.figures()).toMatchObject({ resigningsTotal: 0, unreceiptedCalls: 0 })
  })

  test('A10: a nonce gap wider than 64 is reported and not filled', async () => {
    chain.nonces.set('recorder', 100)
    await recordedHash(recorder.record(call()))
    chain.nonces.set('recorder', 0)
    await recordedHash(recorder.record(call()))
    await clock.advanceMsSettled(60_000)
    expect(kinds()).toContain('nonce-gap-too-wide')
    expect(kinds()).not.toContain('nonce-gap-filled')
  })

  test('A10: while 64 batches lack their receipts the sender takes no more', async () => {
    start({ quota: 1_000 })
    ledger.receiptLagMs = Number.POSITIVE_INFINITY
    for (let at = 0; at < 70; at += 1) {
      void recorder.record(call({ callsUsedInRead: 0 }))
      await clock.advanceMsSettled(100)
    }
    expect(recorder.figures()).toMatchObject({ sentBatches: 64, sealedBatches: 4 })
  })
})

describe('A11: several recorders', () => {
  test('A11: a process holds at most 50 calls of one agent that its own read does not show; the next one waits', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    ledger.receiptLagMs = 5_000
    const promises = Array.from({ length: 51 }, () => recorder.record(call({ callsUsedInRead: 0 })))
    await settle()
    expect(recorder.figures()).toMatchObject({ acceptedCallsTotal: 50, waitingCalls: 1 })
    await clock.advanceMsSettled(8_000)
    expect(countOf(await Promise.all(promises), 'recorded')).toBe(51)
  })

  test('A11: receipted calls still count among those 50 until a chain read shows them', async () => {
    start({ quota: 1_000, recorderCount: 2 })
    const lagging = { callsUsedInRead: 0 }
    for (let at = 0; at < 50; at += 1) await recordedHash(recorder.record(call(lagging)))
    const next = recorder.record(call(lagging))
    expect(recorder.figures()).toMatchObject({ unreceiptedCalls: 0, waitingCalls: 1 })
    const fresh = recorder.record(call())
    expect(await outcomeOf(next)).toMatchObject({ kind: 'recorded' })
    expect(await outcomeOf(fresh)).toMatchObject({ kind: 'recorded' })
  })

  test('A11: with one recorder nothing waits for its receipt', async () => {
    ledger.receiptLagMs = 5_000
    expect(await outcomeOf(recorder.record(call()))).toMatchObject({ kind: 'recorded' })
  })

  test('A11: a call that finds fewer than k × 100 left waits for its receipt', async () => {
    start({ quota: 200, recorderCount: 2 })
    ledger.receiptLagMs = 2_000
    expect(await outcomeOf(recorder.record(call()))).toMatchObject({ kind: 'recorded' })
    const waiting = recorder.record(call({ callsUsedInRead: 0 }))
    await clock.advanceMsSettled(1_900)
    expect(await outcomeOf(waiting)).toBe('open')
    await clock.advanceMsSettled(2_000)
    const hash = await recordedHash(waiting)
    expect(chain.counted.has(hash)).toBe(true)
  })

  test('A11: a refusal by the contract is quota-spent', async () => {
    start({ quota: 20, recorderCount: 2 })
    const stale = call()
    for (let at = 0; at < 20; at += 1) chain.countOutside(call())
    expect(await outcomeOf(recorder.record(stale))).toEqual({ kind: 'quota-spent' })
    expect(recorder.figures()).toMatchObject({ refusedCallsTotal: 1, unreceiptedCalls: 0 })
    expect(kinds()).toContain('usage-refused')
  })

  test('A11: a call whose receipt does not come within 20 s of its sealing is unavailable', async () => {
    start({ quota: 20, recorderCount: 2 })
    ledger.receiptLagMs = Number.POSITIVE_INFINITY
    const waiting = recorder.record(call())
    await clock.advanceMsSettled(19_999)
    expect(await outcomeOf(waiting)).toBe('open')
    await clock.advanceMsSettled(1)
    expect(await outcomeOf(waiting)).toEqual({ kind: 'unavailable' })
  })

  test('A11: what names a window closed over 60 s ago counts against no quota', async () => {
    chain.closedWindows.add(`${agentOf(1)}/${WINDOW_END_SECONDS}`)
    await recordedHash(recorder.record(call()))
    await settle()
    expect(recorder.figures()).toMatchObject({ lateCallsTotal: 1, unreceiptedCalls: 0 })
    expect(recorder.callsRemaining(call())).toBe(20)
    expect(kinds()).toContain('usage-late')
  })
})

describe('bounds', () => {
  test('A10: a reverted batch gives its calls back; after three in a row calls are unavailable for 30 s', async () => {
    chain.isReverting = true
    for (let at = 0; at < 3; at += 1) {
      await recordedHash(recorder.record(call()))
      await settle()
    }
    expect(recorder.figures()).toMatchObject({ revertedCallsTotal: 3, unreceiptedCalls: 0 })
    expect(await outcomeOf(recorder.record(call()))).toEqual({ kind: 'unavailable' })
    chain.isReverting = false
    await clock.advanceMsSettled(30_000)
    expect(await outcomeOf(recorder.record(call()))).toMatchObject({ callsRemaining: 19 })
  })

  test('A11: a window is forgotten once it is closed for 60 s and nothing in it is unreceipted', async () => {
    const windowExpiresAtSeconds = START_MS / 1000 - 100
    ledger.receiptLagMs = 50_000
    await recordedHash(recorder.record(call({ windowExpiresAtSeconds })))
    await clock.advanceMsSettled(49_000)
    expect(recorder.figures().windows).toBe(1)
    await clock.advanceMsSettled(60_000)
    expect(recorder.figures()).toMatchObject({ windows: 0, recordedCallsTotal: 1 })
    expect(clock.pendingCount()).toBe(0)
  })

  test('A10: nothing is asked of the ledger, and no timer armed, while no call comes', async () => {
    await recordedHash(recorder.record(call()))
    await recorder.close()
    expect(clock.pendingCount()).toBe(0)
    const reads = ledger.receiptReads
    await clock.advanceMsSettled(600_000)
    expect(ledger.receiptReads).toBe(reads)
  })

  test('S6: close seals and sends what is open, waits for receipts, and refuses later calls', async () => {
    ledger.sendMs = 500
    const promises = Array.from({ length: 5 }, (_, at) =>
      recorder.record(call({ agent: agentOf(at + 1) })),
    )
    await settle()
    const closed = recorder.close()
    expect(await outcomeOf(recorder.record(call()))).toEqual({ kind: 'unavailable' })
    await clock.advanceMsSettled(2_000)
    await closed
    expect(countOf(await Promise.all(promises), 'recorded')).toBe(5)
    expect(recorder.figures()).toMatchObject({ recordedCallsTotal: 5, unreceiptedCalls: 0 })
    expect(clock.pendingCount()).toBe(0)
  })

  test('S6: close ends after 5 s, reports what may be lost, and leaves no timer', async () => {
    ledger.sendFaults.push('dropped')
    const hash = await recordedHash(recorder.record(call()))
    const closed = recorder.close()
    await clock.advanceMsSettled(5_000)
    await closed
    expect(events.at(-1)).toEqual({ kind: 'closed-unfinished', hashes: [hash], calls: 1 })
    expect(clock.pendingCount()).toBe(0)
  })
})
