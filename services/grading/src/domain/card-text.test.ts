import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGraderWorld } from '../testing/grader-world.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePrices,
  scored,
} from '../testing/sample-events.ts'
import { samplePick } from '../testing/sample-picks.ts'
import { cardText } from './card-text.ts'

test('a card’s text says what JSON.stringify says, whatever names and marks are in it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.string(), fc.boolean(), async (home, ref, isSettled) => {
      const { store, grader } = createGraderWorld()
      const event = sampleEvent({ home: home.isWellFormed() ? home : 'x' })
      const outcomes = isSettled ? scored(1, 0) : []
      await store.ingest(
        sampleBatch([sampleObservation({ event, closes: [samplePrices()], outcomes })]),
      )
      for (const pick of [
        samplePick(),
        samplePick({ options: { basis: 'price' } }),
        samplePick({ market: 'soccer/none/1x2/ft' }),
      ]) {
        const card = await grader.grade({ ...pick, ref })
        expect(JSON.parse(cardText(card))).toEqual(JSON.parse(JSON.stringify(card)))
        expect(cardText(card)).toBe(JSON.stringify(card))
      }
    }),
  )
})
