import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PurchaseFault } from './purchase-fault.ts'
import { playRound, ways } from './purchase-round.ts'
import { type ReplicaStack, startReplicaStack } from './replica-stack.ts'

/** Rounds on the test file's own stack, which starts and ends with the file. */
export function faultRounds() {
  let stack: ReplicaStack
  let roundsPlayed = 0
  const start = async (): Promise<void> => {
    stack = await startReplicaStack({ periodSeconds: 60, callsAllowed: 20 })
    await stack.heal()
  }
  beforeAll(start)
  afterAll(() => stack.stop())

  /** Plays a round of this fault, in which the agent goes on in the way of that number; returns its problems. */
  const play = (fault: PurchaseFault, wayNumber: number): Promise<readonly string[]> => {
    const number = roundsPlayed
    roundsPlayed += 1
    return playRound(stack, number, { fault, way: ways[wayNumber % ways.length] ?? ways[0] })
  }

  return {
    play,
    stack: () => stack,
    /** Starts a fresh ledger: hundreds of rounds make one slow. */
    async renew(): Promise<void> {
      await stack.stop()
      await start()
    },
    testEach(faults: readonly PurchaseFault[]): void {
      test.each(faults.map((fault, index) => [fault.name, fault, index] as const))(
        '%s',
        async (_name, fault, index) => {
          const problems = await play(fault, index)
          expect(problems, problems.join('\n')).toEqual([])
        },
      )
    },
  }
}
