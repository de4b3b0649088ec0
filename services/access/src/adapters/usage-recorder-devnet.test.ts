import { type Clock, systemClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { UsageEvent } from '../metering/recorder-parts.ts'
import type { UsageOutcome } from '../metering/usage-call.ts'
import { recordedHashes } from '../metering/usage-recorder.fixture.ts'
import { createUsageRecorder, type UsageRecorder } from '../metering/usage-recorder.ts'
import { startRecorderChild } from './recorder-child.fixture.ts'
import { usageGasLimit } from './recorder-ledger.ts'
import { startUsageDevnet, type UsageDevnet } from './usage-devnet.fixture.ts'

const WAIT = { interval: 20 }

/** Ten seconds in one: what waits for a slow network ends sooner. */
function tenfoldClock(): Clock {
  const startMs = systemClock.unixMs()
  return {
    unixMs: () => startMs + 10 * (systemClock.unixMs() - startMs),
    after: (ms, run) => systemClock.after(ms / 10, run),
  }
}

async function receipted(recorder: UsageRecorder): Promise<void> {
  await expect.poll(() => recorder.figures().unreceiptedCalls, WAIT).toBe(0)
}

describe('the recorder on devnet', () => {
  let network: UsageDevnet
  let recorders: UsageRecorder[]
  let events: UsageEvent[]
  beforeEach(() => {
    recorders = []
    events = []
  })
  afterEach(async () => {
    await Promise.all(recorders.map((recorder) => recorder.close()))
    await network.stop()
  })
  const startRecorder = (recorderAt = 0, clock = systemClock): UsageRecorder => {
    const recorder = createUsageRecorder({
      ledger: network.openLedger(recorderAt),
      clock,
      recorderCount: network.recorderKeys.length,
      onEvent: (event) => events.push(event),
    })
    recorders.push(recorder)
    return recorder
  }
  /** One call as the service makes it: read, then record. */
  const callOnce = async (recorder: UsageRecorder, agent: string): Promise<UsageOutcome> =>
    recorder.record(await network.readCall(agent))
  const countUsed = async (agent: string) => (await network.readCall(agent)).callsUsedInRead

  test('A9, A11: 200 concurrent calls on a quota of 150: 150 are answered, 50 find it spent, the chain counts 150, every hash is a successful receipt', async () => {
    network = await startUsageDevnet({ quota: 150 })
    const agent = await network.openWindow()
    const recorder = startRecorder()
    // All have read before the first is recorded: how many share a batch is not for the machine's speed to say.
    const calls = await Promise.all(Array.from({ length: 200 }, () => network.readCall(agent)))
    const outcomes = await Promise.all(calls.map((call) => recorder.record(call)))
    const hashes = recordedHashes(outcomes)
    expect(hashes).toHaveLength(150)
    expect(outcomes.filter(({ kind }) => kind === 'quota-spent')).toHaveLength(50)
    await receipted(recorder)
    expect(await countUsed(agent)).toBe(150)
    for (const hash of new Set(hashes))
      expect(await network.awaitReceipt(hash)).toMatchObject({ status: 'success' })
    expect(recorder.figures().transactionsSentTotal).toBeLessThan(50)
  })

  test('A10: at low load each call is one transaction, and calls remaining count down by one', async () => {
    network = await startUsageDevnet({ quota: 20 })
    const agent = await network.openWindow()
    const recorder = startRecorder()
    const outcomes: UsageOutcome[] = []
    for (let at = 0; at < 21; at += 1) {
      outcomes.push(await callOnce(recorder, agent))
      // A9 takes a call that the next read shows, and whose receipt is not here yet, off twice
      await receipted(recorder)
    }
    expect(new Set(recordedHashes(outcomes)).size).toBe(20)
    expect(
      outcomes.flatMap((outcome) => (outcome.kind === 'recorded' ? [outcome.callsRemaining] : [])),
    ).toEqual(Array.from({ length: 20 }, (_, at) => 19 - at))
    expect(outcomes.at(-1)).toEqual({ kind: 'quota-spent' })
    expect(await countUsed(agent)).toBe(20)
  })

  test('A9: with reads and receipts that lag 700 ms the quota is neither overspent nor refused early', async () => {
    network = await startUsageDevnet({ quota: 60 })
    const agent = await network.openWindow()
    network.devnet.controls.setReadLagMs(700)
    await expect.poll(async () => (await network.readCall(agent)).callsAllowed, WAIT).toBe(60)
    await expect
      .poll(async () => (await network.readCall(agent)).windowExpiresAtSeconds, WAIT)
      .toBeGreaterThan(0)
    const recorder = startRecorder()
    const outcomes: UsageOutcome[] = []
    await Promise.all(
      Array.from({ length: 5 }, async () => {
        for (let at = 0; at < 15; at += 1) outcomes.push(await callOnce(recorder, agent))
      }),
    )
    expect(recordedHashes(outcomes)).toHaveLength(60)
    await receipted(recorder)
    network.devnet.controls.setReadLagMs(0)
    expect(await countUsed(agent)).toBe(60)
  })

  test('A11: two recorders with keys of their own: 400 calls on a quota of 250 never overspend, and the chain counts what was answered', async () => {
    network = await startUsageDevnet({ quota: 250, recorderCount: 2 })
    const agent = await network.openWindow()
    const pair = [startRecorder(0), startRecorder(1)]
    const outcomes: UsageOutcome[] = []
    const caller = async (recorder: UsageRecorder): Promise<void> => {
      for (let at = 0; at < 20; at += 1) outcomes.push(await callOnce(recorder, agent))
    }
    await Promise.all(
      pair.flatMap((recorder) => Array.from({ length: 10 }, () => caller(recorder))),
    )
    await Promise.all(pair.map((recorder) => recorder.close()))
    const hashes = recordedHashes(outcomes)
    expect(outcomes).toHaveLength(400)
    expect(await countUsed(agent)).toBe(hashes.length)
    expect(hashes.length).toBeLessThanOrEqual(250)
    expect(hashes.length).toBeGreaterThan(200)
    for (const hash of new Set(hashes))
      expect(await network.awaitReceipt(hash)).toMatchObject({ status: 'success' })
  })

  test('A10: many agents share transactions, each counted once, within the gas limit', async () => {
    network = await startUsageDevnet({ quota: 20 })
    const agents: string[] = []
    for (let at = 0; at < 120; at += 1) agents.push(await network.openWindow())
    const recorder = startRecorder()
    const calls = await Promise.all(agents.map((agent) => network.readCall(agent)))
    const outcomes = await Promise.all(calls.map((call) => recorder.record(call)))
    expect(recordedHashes(outcomes)).toHaveLength(120)
    await receipted(recorder)
    expect(await Promise.all(agents.map(countUsed))).toEqual(agents.map(() => 1))
    expect(recorder.figures().transactionsSentTotal).toBeLessThan(10)
  })

  test('A11: calls of windows that the ledger has yet to materialise fit the gas limit of their batch', async () => {
    network = await startUsageDevnet({ quota: 20, periodSeconds: 100 })
    const agents: string[] = []
    for (let at = 0; at < 50; at += 1) agents.push(await network.openWindow(4))
    await network.devnet.controls.advanceSeconds(150)
    const calls = await Promise.all(agents.map((agent) => network.readCall(agent)))
    const ledger = network.openLedger()
    const signed = ledger.sign({
      entries: calls.map((call) => ({ ...call, calls: 1 })),
      nonce: await ledger.readNonce(),
      gasPriceWeibar: 2n * (await ledger.quoteGasPriceWeibar()),
    })
    expect(await ledger.send(signed)).toEqual({ kind: 'accepted' })
    const { status, gasUsed } = await network.awaitReceipt(signed.hash)
    expect(status).toBe('success')
    expect(await Promise.all(agents.map(countUsed))).toEqual(agents.map(() => 1))
    expect(gasUsed).toBeLessThan((usageGasLimit(50) * 9n) / 10n)
  })

  test('A10: dropped transactions are sent again unchanged: each answered hash is a successful receipt', async () => {
    network = await startUsageDevnet({ quota: 20 })
    const agent = await network.openWindow()
    const recorder = startRecorder(0, tenfoldClock())
    const first = await callOnce(recorder, agent)
    await receipted(recorder)
    network.devnet.controls.dropNextTransactions(1)
    const dropped = await callOnce(recorder, agent)
    // The next one shows the ledger the gap, and both go out again.
    const next = await callOnce(recorder, agent)
    await receipted(recorder)
    for (const hash of recordedHashes([first, dropped, next]))
      expect(await network.awaitReceipt(hash)).toMatchObject({ status: 'success' })
    expect(await countUsed(agent)).toBe(3)
    expect(recorder.figures()).toMatchObject({ resigningsTotal: 0 })
  })

  test('A10: a doubled gas price is signed anew, reported with both hashes, and counted once', async () => {
    network = await startUsageDevnet({ quota: 20 })
    const agent = await network.openWindow()
    const recorder = startRecorder()
    await callOnce(recorder, agent)
    await receipted(recorder)
    network.devnet.controls.setGasPriceTinybar(500n)
    const [oldHash] = recordedHashes([await callOnce(recorder, agent)])
    await receipted(recorder)
    const resigned = events.find((event) => event.kind === 're-signed')
    expect(resigned).toMatchObject({ reason: 'gas-price-too-low', oldHash, calls: 1 })
    expect(await countUsed(agent)).toBe(2)
  })

  test('A10: a process that starts on a nonce that lags 2 s signs anew, and its calls are counted once', async () => {
    network = await startUsageDevnet({ quota: 20 })
    const agent = await network.openWindow()
    const before = startRecorder()
    for (let at = 0; at < 4; at += 1) await callOnce(before, agent)
    await before.close()
    network.devnet.controls.setNonceLagMs(2_000)
    const after = startRecorder()
    const outcomes = [await callOnce(after, agent), await callOnce(after, agent)]
    await receipted(after)
    expect(recordedHashes(outcomes)).toHaveLength(2)
    expect(after.figures().resigningsTotal).toBeGreaterThan(0)
    expect(await countUsed(agent)).toBe(6)
  })

  test('A10: a second process with the same key consumes nonces; nothing is lost or counted twice', async () => {
    network = await startUsageDevnet({ quota: 200 })
    const agents = [await network.openWindow(), await network.openWindow()] as const
    const pair = [startRecorder(0), startRecorder(0)] as const
    const outcomes = await Promise.all(
      [0, 1].map(async (at) => {
        const own: UsageOutcome[] = []
        for (let call = 0; call < 20; call += 1)
          own.push(await callOnce(pair[at === 0 ? 0 : 1], agents[at === 0 ? 0 : 1]))
        return own
      }),
    )
    await Promise.all(pair.map((recorder) => recorder.close()))
    expect(outcomes.map((own) => recordedHashes(own).length)).toEqual([20, 20])
    expect(await Promise.all(agents.map(countUsed))).toEqual([20, 20])
  })

  test('A11: a recorder killed in the middle of its work loses at most what it had not sent, in the agent’s favour, and starts again', async () => {
    network = await startUsageDevnet({ quota: 1_000_000 })
    const agent = await network.openWindow()
    const child = await startRecorderChild(network, {
      agent,
      keyAt: 0,
      callers: 20,
      onLine: (count, kill) => count === 300 && kill('SIGKILL'),
    })
    child.go()
    await child.ended
    const answered = child.hashes()
    expect(answered.length).toBeGreaterThanOrEqual(300)

    const recorder = startRecorder()
    await callOnce(recorder, agent)
    await receipted(recorder)
    // The key's transactions are in order: what the killed process had under way came before this one, or never comes.
    const countedOfKilled = (await countUsed(agent)) - 1
    expect(countedOfKilled).toBeGreaterThan(0)
    // Callers 20 at most were between the last line and the kill: accepted, never answered. And the lease's 49 (A18).
    expect(countedOfKilled).toBeLessThanOrEqual(answered.length + 20 + 49)
    const hashes = [...new Set(answered)]
    const receipts = await Promise.all(hashes.map((hash) => network.openLedger().readReceipt(hash)))
    const lostFrom = receipts.indexOf(undefined)
    const lost = lostFrom < 0 ? [] : receipts.slice(lostFrom)
    expect(lost.every((receipt) => receipt === undefined)).toBe(true)
    expect(lost.length).toBeLessThanOrEqual(5)

    for (let at = 0; at < 4; at += 1) await callOnce(recorder, agent)
    await recorder.close()
    expect(await countUsed(agent)).toBe(countedOfKilled + 5)
  })
})
