import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../testing/samples.fixture.ts'
import { auditPieces, cardText } from './card-text.ts'

test('a card’s text equals JSON.stringify’s, whatever names and marks it holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.string(), fc.boolean(), async (home, ref, isSettled) => {
      const { store, grader } = createGraderFixture()
      const event = sampleEvent({ home: home.isWellFormed() ? home : 'x' })
      const outcomes = isSettled ? scored(1, 0) : []
      await store.ingest(
        sampleBatch([sampleObservation({ event, closes: [samplePrices()], outcomes })]),
      )
      const picks = [
        samplePick(),
        samplePick({ options: { basis: 'price' } }),
        samplePick({ market: 'soccer/none/1x2/ft' }),
      ].map((pick) => ({ ...pick, ref }))
      for (const pick of picks) {
        const card = await grader.grade(pick)
        expect(JSON.parse(cardText(card))).toEqual(JSON.parse(JSON.stringify(card)))
        expect(cardText(card)).toBe(JSON.stringify(card))
      }
      const audit = await grader.audit({ picks, label: ref })
      expect([...auditPieces(audit)].join('')).toBe(JSON.stringify(audit))
    }),
  )
})

test('an answer kept by another version is sent with all its members', async () => {
  const { store, pay } = createGraderFixture()
  await store.ingest(sampleBatch([sampleObservation({ closes: [samplePrices()] })]))
  const card = await pay(samplePick())
  expect(card.outcome).toBe('GRADED')
  const kept = { ...JSON.parse(JSON.stringify(card)), of_another_version: 1 }
  expect(cardText(kept)).toBe(JSON.stringify(kept))
  expect(cardText(card)).toBe(JSON.stringify(card))
})
