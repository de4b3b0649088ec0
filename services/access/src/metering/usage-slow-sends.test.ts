import { describe, expect, test } from 'vitest'
import type { UsageOutcome } from './usage-call.ts'
import type { SendFault } from './usage-ledger-fake.fixture.ts'
import { UNSENT_CALLS_MAX } from './usage-limits.ts'
import { agentAddress, type RecorderBench, startRecorderBench } from './usage-recorder.fixture.ts'

/** The slowest that Hedera's relay answers a send. */
const SEND_MS = 8_000
const AGENTS = 20

type Answered = { readonly agent: string; readonly outcome: UsageOutcome; readonly afterMs: number }

/** Fifty calls a second of twenty agents, one after the other, for so long. */
async function callFor(seconds: number, bench: RecorderBench): Promise<Answered[]> {
  const answers: Answered[] = []
  for (let at = 0; at < seconds * 50; at += 1) {
    const agent = agentAddress((at % AGENTS) + 1)
    const calledAtMs = bench.clock.unixMs()
    const call = bench.call({ agent, callsUsedInRead: 0 })
    const tell = async (): Promise<void> => {
      const outcome = await bench.recorder.record(call)
      answers.push({ agent, outcome, afterMs: bench.clock.unixMs() - calledAtMs })
    }
    void tell()
    await bench.clock.advanceMsSettled(20)
  }
  await bench.clock.advanceMsSettled(100)
  return answers
}

const slow = (quota: number): RecorderBench => {
  const bench = startRecorderBench({ quota })
  bench.ledger.sendMs = SEND_MS
  return bench
}

describe('sends of 8 s, 50 calls a second of 20 agents', () => {
  test('A10: each call of five minutes is answered within 60 ms, and each is counted in the end', async () => {
    const bench = slow(1_000)
    const answers = await callFor(300, bench)
    expect(answers).toHaveLength(300 * 50)
    expect(answers.filter(({ outcome }) => outcome.kind !== 'recorded')).toEqual([])
    expect(Math.max(...answers.map(({ afterMs }) => afterMs))).toBeLessThanOrEqual(60)
    // The queue does not grow: what a kill could lose stays within its limit, with room.
    expect(bench.recorder.figures().sealedBatches).toBeLessThan(16)
    await bench.clock.advanceMsSettled(600_000)
    bench.ledger.sendMs = 0
    await bench.stop()
    expect(bench.recorder.figures()).toMatchObject({ refusedCallsTotal: 0, unreceiptedCalls: 0 })
    expect(bench.chain.used).toBe(answers.length)
  })

  test('A9: quotas that run out on the way are used to the last call and never exceeded', async () => {
    const bench = slow(100)
    const answers = await callFor(60, bench)
    for (let agent = 1; agent <= AGENTS; agent += 1) {
      const own = answers.filter((each) => each.agent === agentAddress(agent))
      expect(own.filter(({ outcome }) => outcome.kind === 'recorded')).toHaveLength(100)
    }
    await bench.clock.advanceMsSettled(600_000)
    expect(bench.chain.used).toBe(AGENTS * 100)
    expect(bench.recorder.figures().refusedCallsTotal).toBe(0)
  })

  test.each<[string, SendFault]>([
    ['a send that fails', 'lost'],
    ['a dropped response', 'unanswered'],
    ['a transaction that is dropped, which leaves a gap of nonces', 'dropped'],
  ])(
    'A10: %s in a full queue: every call is counted once, under the hash it was answered with',
    async (_name, fault) => {
      const bench = slow(1_000)
      bench.ledger.sendFaults.push(null, fault, null, fault)
      const answers = await callFor(20, bench)
      expect(bench.recorder.figures().sealedBatches).toBeGreaterThan(4)
      await bench.clock.advanceMsSettled(900_000)
      bench.ledger.sendMs = 0
      await bench.stop()
      expect(bench.recorder.figures()).toMatchObject({ resigningsTotal: 0, unreceiptedCalls: 0 })
      expect(bench.chain.used).toBe(answers.length)
      for (const { outcome } of answers)
        expect(
          outcome.kind === 'recorded' && bench.chain.counted.has(outcome.transactionHash),
        ).toBe(true)
    },
  )

  test('A11: a kill with a full queue loses what was not sent, in the agents’ favour, and leases at their cost: 5 % each at most', async () => {
    const bench = slow(1_000)
    const answers = await callFor(20, bench)
    const { sealedBatches } = bench.recorder.figures()
    expect(sealedBatches).toBeGreaterThan(4)
    bench.ledger.isDead = true
    await bench.clock.advanceMsSettled(SEND_MS)
    const hashes = answers.flatMap(({ outcome }) =>
      outcome.kind === 'recorded' ? [outcome.transactionHash] : [],
    )
    const lost = hashes.filter((hash) => !bench.chain.counted.has(hash))
    expect(lost.length).toBeGreaterThan(0)
    expect(lost.length).toBeLessThanOrEqual(UNSENT_CALLS_MAX)
    for (let agent = 1; agent <= AGENTS; agent += 1) {
      const answered = answers.filter((each) => each.agent === agentAddress(agent)).length
      const overCounted =
        bench.chain.countUsed(bench.call({ agent: agentAddress(agent) })) - answered
      expect(overCounted).toBeLessThanOrEqual(50)
    }
  })

  test('A10: calls that are answered with batches not yet sent are at most as many as a kill may lose', async () => {
    const bench = startRecorderBench({ quota: 39 })
    bench.ledger.sendMs = 600_000
    const answered: UsageOutcome[] = []
    for (let at = 0; at < 9; at += 1) {
      for (let made = 0; made < 1_600; made += 1)
        void bench.recorder
          .record(bench.call({ agent: agentAddress(Math.floor(made / 4) + 1), callsUsedInRead: 0 }))
          .then((outcome) => answered.push(outcome))
      await bench.clock.advanceMsSettled(50)
    }
    const recorded = answered.filter(({ kind }) => kind === 'recorded')
    expect(recorded.length).toBeGreaterThan(UNSENT_CALLS_MAX / 2)
    // One batch of 500 agents may pass the limit.
    expect(recorded.length).toBeLessThanOrEqual(UNSENT_CALLS_MAX + 3 * 500)
    await bench.clock.advanceMsSettled(10_000)
    expect(answered.filter(({ kind }) => kind === 'unavailable').length).toBeGreaterThan(0)
  })
})
