import { beforeEach, describe, expect, test } from 'vitest'
import {
  agentOf,
  countOf,
  type RecorderBench,
  startRecorderBench,
  WINDOW_END_SECONDS,
} from './usage-recorder.fixture.ts'
import type { UsageOutcome } from './usage-recorder.ts'

let bench: RecorderBench

function start(options: Parameters<typeof startRecorderBench>[0] = {}): void {
  bench = startRecorderBench(options)
}

/** One call after another, each with a fresh read. */
async function callInTurn(count: number): Promise<UsageOutcome[]> {
  const outcomes: UsageOutcome[] = []
  for (let at = 0; at < count; at += 1) {
    const outcome = await bench.outcomeOf(bench.recorder.record(bench.call()))
    if (outcome !== 'open') outcomes.push(outcome)
  }
  return outcomes
}

const hashesOf = (outcomes: readonly UsageOutcome[]): string[] =>
  outcomes.flatMap((outcome) => (outcome.kind === 'recorded' ? [outcome.transactionHash] : []))

/** Calls that each transaction to the ledger asked to be counted, in order. */
const entriesSent = (): number[][] =>
  bench.ledger.sent.map((raw) => JSON.parse(raw).entries.map(({ calls }: { calls: number }) => calls))

beforeEach(() => start({ quota: 1_000 }))

describe('A18: what a quota costs', () => {
  test('a fully used quota of 1,000 calls costs at most 27 transactions', async () => {
    const outcomes = await callInTurn(1_001)
    expect(countOf(outcomes, 'recorded')).toBe(1_000)
    expect(outcomes.at(-1)).toEqual({ kind: 'quota-spent' })
    expect(bench.chain.usedOf(bench.call())).toBe(1_000)
    expect(bench.recorder.figures().transactionsSentTotal).toBeLessThanOrEqual(27)
  })
})
