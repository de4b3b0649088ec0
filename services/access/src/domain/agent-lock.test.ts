import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { createAgentLock } from './agent-lock.ts'

const agent = '0xaa00000000000000000000000000000000000000'
const other = '0xbb00000000000000000000000000000000000000'

function startLock() {
  const clock = manualClock(0)
  const lockAgent = createAgentLock(clock)
  const started: string[] = []
  const ends: (() => void)[] = []
  const pay = (payment: string, forAgent: typeof agent | typeof other = agent, isOwn = false) =>
    lockAgent({ agent: forAgent, isOwn, payment }, async (hasWaited) => {
      started.push(hasWaited ? `${payment} after waiting` : payment)
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      await promise
    })
  return { clock, started, pay, ends }
}

describe('the lock of an agent', () => {
  test('different payments for one agent go one after the other, equal ones and other agents’ at once', async () => {
    const { clock, started, pay, ends } = startLock()
    const paying = [pay('first'), pay('second'), pay('first'), pay('elsewhere', other)]
    await clock.advanceMsSettled(1_000)
    expect(started).toEqual(['first', 'first', 'elsewhere'])
    for (const end of ends.splice(0)) end()
    await clock.advanceMsSettled(1)
    expect(started.slice(3)).toEqual(['second after waiting'])
    for (const end of ends) end()
    await Promise.all(paying)
  })

  test('X9: a stranger’s payment keeps the agent’s own waiting for nothing, however slow it is', async () => {
    const { clock, started, pay, ends } = startLock()
    const paying = [pay('theirs'), pay('own', agent, true), pay('another stranger’s')]
    await clock.advanceMsSettled(1)
    expect(started).toEqual(['theirs', 'own'])
    for (const end of ends.splice(0)) end()
    await clock.advanceMsSettled(1)
    expect(started.at(-1)).toBe('another stranger’s after waiting')
    for (const end of ends) end()
    await Promise.all(paying)
  })

  test('the next one starts when the last equal one has left', async () => {
    const { clock, started, pay, ends } = startLock()
    const paying = [pay('first'), pay('first'), pay('second')]
    await clock.advanceMsSettled(1)
    ends.shift()?.()
    await clock.advanceMsSettled(1)
    expect(started).toEqual(['first', 'first'])
    ends.shift()?.()
    await clock.advanceMsSettled(1)
    expect(started.at(-1)).toBe('second after waiting')
    for (const end of ends) end()
    await Promise.all(paying)
  })

  test('nobody waits longer than 15 s, however many went before and however slow they are', async () => {
    const { clock, started, pay, ends } = startLock()
    const paying = ['slow', 'slower', 'own'].map((payment) => pay(payment))
    await clock.advanceMsSettled(14_999)
    expect(started).toEqual(['slow'])
    await clock.advanceMsSettled(2)
    expect(started).toEqual(['slow', 'slower after waiting', 'own after waiting'])
    for (const end of ends) end()
    await Promise.all(paying)
  })
})
