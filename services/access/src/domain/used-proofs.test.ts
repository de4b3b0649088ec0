import { array, assert as assertProperty, integer, property } from 'fast-check'
import { expect, test } from 'vitest'
import { createUsedProofs } from './agent-guard.ts'

test('A17: a proof serves once', () => {
  const proofs = createUsedProofs()
  const proof = { nonce: 'n', issuedAtMs: 1 }
  expect([proofs.take(proof), proofs.take(proof)]).toEqual([true, false])
  proofs.giveBack(proof)
  expect([proofs.take(proof), proofs.take(proof)]).toEqual([true, false])
})

test('A17: in full memory what is forgotten counts as used, and what is newer serves', () => {
  const proofs = createUsedProofs(2)
  for (const issuedAtMs of [10, 20, 30]) proofs.take({ nonce: String(issuedAtMs), issuedAtMs })
  expect(proofs.take({ nonce: '10', issuedAtMs: 10 })).toBe(false)
  expect(proofs.take({ nonce: 'never seen', issuedAtMs: 9 })).toBe(false)
  expect(proofs.take({ nonce: 'fresh', issuedAtMs: 11 })).toBe(true)
})

test('A17: for arbitrary proofs in arbitrary order none serves twice', () => {
  const nonces = array(integer({ min: 0, max: 30 }), { maxLength: 200 })
  assertProperty(
    property(nonces, integer({ min: 1, max: 10 }), (sent, max) => {
      const proofs = createUsedProofs(max)
      // A nonce is issued once: it always comes with the same time.
      const served = sent.filter((nonce) =>
        proofs.take({ nonce: `${nonce}`, issuedAtMs: nonce % 7 }),
      )
      expect(served).toEqual([...new Set(served)])
    }),
  )
})
