/**
 * Bad luck in the middle of a purchase, on a real local ledger, over HTTP, with three replicas that share nothing but the
 * contract and payTo's key. testing/purchase-round.ts says what a round is and holds the model of the ledger.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FaultWorld, startFaultWorld } from './testing/fault-world.ts'
import { purchaseFaults } from './testing/purchase-faults.ts'
import { playRound, type Way, ways } from './testing/purchase-round.ts'

const isLong = process.env.TALLYSTICK_LONG === '1'
const FAULTS_PER_BATCH = 50
/** The long run plays each fault eighteen times more: over 1,000 in all. */
const BATCHES = 20

let world: FaultWorld
let roundsPlayed = 0

beforeAll(async () => {
  world = await startFaultWorld({ periodSeconds: 60, callsAllowed: 20 })
  await world.heal()
}, 90_000)
afterAll(() => world.stop(), 60_000)

const wayAt = (index: number): Way => ways[index % ways.length] ?? ways[0]

const play = (index: number, way: Way): Promise<readonly string[]> => {
  const fault = purchaseFaults[index % purchaseFaults.length]
  if (fault === undefined) throw new Error('there are no faults')
  const number = roundsPlayed
  roundsPlayed += 1
  return playRound(world, number, { fault, way })
}

describe('nothing is charged twice, nothing paid is lost', () => {
  test.each(purchaseFaults.map(({ name }, index) => [name, index] as const))(
    '%s',
    async (_name, index) => expect(await play(index, wayAt(index))).toEqual([]),
    120_000,
  )

  // Every fault with every way of going on, again and again: at each replica, with a memo and without.
  test.runIf(isLong).each(Array.from({ length: BATCHES }, (_, batch) => batch))(
    `1,000 faults: batch %i of ${BATCHES}`,
    async (batch) => {
      const problems: string[] = []
      for (let step = 0; step < FAULTS_PER_BATCH; step += 1) {
        const index = batch * FAULTS_PER_BATCH + step
        const turn = Math.floor(index / purchaseFaults.length) + 1
        problems.push(...(await play(index, wayAt(index + turn))))
      }
      expect(problems).toEqual([])
    },
    900_000,
  )
})
