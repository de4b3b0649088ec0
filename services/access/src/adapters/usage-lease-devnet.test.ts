import { systemClock } from '@tallystick/service-kit'
import { afterEach, describe, expect, test } from 'vitest'
import { createUsageRecorder, type UsageRecorder } from '../metering/usage-recorder.ts'
import { startRecorderChild } from './recorder-child.fixture.ts'
import { startUsageDevnet, type UsageDevnet } from './usage-devnet.fixture.ts'

const WAIT = { interval: 20 }
const CALLS_A_READ = 10

describe('leases on devnet', () => {
  let network: UsageDevnet
  let recorder: UsageRecorder | undefined
  afterEach(async () => {
    await recorder?.close()
    recorder = undefined
    await network.stop()
  })
  const readUsed = async (agent: string) => (await network.readCall(agent)).callsUsedInRead
  const isCounted = async (hash: string): Promise<boolean> => {
    const receipt = await network.openLedger().readReceipt(hash)
    return receipt?.kind === 'mined' && receipt.counts.some(({ kind }) => kind === 'recorded')
  }

  test('A18: a fully used quota of 1,000 calls costs at most 25 transactions, and each answer names one that counted it', async () => {
    network = await startUsageDevnet({ quota: 1_000 })
    const agent = await network.openWindow()
    recorder = createUsageRecorder({
      ledger: network.openLedger(),
      clock: systemClock,
      recorderCount: 1,
    })
    const answered = new Map<string, number>()
    let call = await network.readCall(agent)
    for (let at = 0; at < 1_000; at += 1) {
      // The service keeps a read for some calls, too.
      if (at % CALLS_A_READ === 0) call = await network.readCall(agent)
      const outcome = await recorder.record(call)
      if (outcome.kind !== 'recorded') throw new Error(outcome.kind)
      const { transactionHash: hash } = outcome
      answered.set(hash, (answered.get(hash) ?? 0) + 1)
    }
    expect(await recorder.record(await network.readCall(agent))).toEqual({ kind: 'quota-spent' })
    await expect.poll(() => recorder?.figures().unreceiptedCalls, WAIT).toBe(0)
    expect(answered.size).toBeLessThanOrEqual(25)
    expect(await readUsed(agent)).toBe(1_000)
    for (const hash of answered.keys()) expect(await isCounted(hash)).toBe(true)
  })

  test('A18: SIGTERM gives back what nobody used: the chain counts the calls that were answered', async () => {
    network = await startUsageDevnet({ quota: 1_000_000 })
    const agent = await network.openWindow()
    const child = await startRecorderChild(network, {
      agent,
      keyAt: 0,
      callers: 1,
      onLine: (count, kill) => count === 80 && kill('SIGTERM'),
    })
    child.go()
    await child.ended
    expect(child.hashes().length).toBeGreaterThanOrEqual(80)
    // One more may be on its way to its line.
    expect((await readUsed(agent)) - child.hashes().length).toBeLessThanOrEqual(1)
  })

  test('A18: of two recorder processes one is killed with kill -9: the quota is never exceeded, every call of the other is counted, and the quota is short by at most 5 %', async () => {
    network = await startUsageDevnet({ quota: 400, recorderCount: 2 })
    const agent = await network.openWindow()
    const callers = 3
    const killed = await startRecorderChild(network, {
      agent,
      keyAt: 0,
      callers,
      onLine: (count, kill) => count === 60 && kill('SIGKILL'),
    })
    const other = await startRecorderChild(network, { agent, keyAt: 1, callers })
    killed.go()
    other.go()
    await killed.ended
    await expect.poll(() => other.lines.includes('quota-spent'), WAIT).toBe(true)
    other.kill('SIGTERM')
    await other.ended
    const answered = killed.hashes().length + other.hashes().length
    const used = await readUsed(agent)
    expect(used).toBeLessThanOrEqual(400)
    for (const hash of new Set(other.hashes())) expect(await isCounted(hash)).toBe(true)
    // A twentieth for the kill, and each caller's call that was accepted and never answered.
    expect(used - answered).toBeLessThanOrEqual(20 + callers)
    expect(answered).toBeGreaterThanOrEqual(400 - 20 - callers)
  })
})
