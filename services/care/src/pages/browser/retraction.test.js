import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import * as service from '../../domain/retraction.ts'
import { retractionSentence } from './retraction.js'

it('the preview says what the service will say', () => {
  const correction = fc.record({
    previousValue: fc.string(),
    value: fc.string(),
    authorLabel: fc.string(),
  })
  fc.assert(
    fc.property(correction, (one) => {
      expect(retractionSentence(one)).toBe(service.retractionSentence(one))
    }),
  )
})
