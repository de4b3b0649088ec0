import { expect, test } from 'vitest'
import { createHttpFacilitator } from './facilitators/facilitator.ts'
import { createJsonRpcLedger } from './schemes/evm/evm-ledger.ts'
import { hederaRequirement } from './schemes/hedera/exact-hedera-scheme.ts'
import { createMirrorNode } from './schemes/hedera/mirror-node.ts'

const TERMS = { network: 'hedera:testnet', payTo: '0.0.7001', feePayer: '0.0.5001' }

test('HBAR is a price in words, or tinybar', () => {
  const inWords = hederaRequirement({ ...TERMS, price: '0.5 HBAR' })
  expect(inWords).toEqual(hederaRequirement({ ...TERMS, amountTinybar: 50_000_000n }))
})

test.each([
  [
    () => hederaRequirement({ ...TERMS, price: '$1' as '1 HBAR' }),
    `price: expected an amount of HBAR above 0 such as '0.5 HBAR', not "$1"`,
  ],
  [
    () => hederaRequirement({ ...TERMS, amountTinybar: 0n }),
    'amountTinybar: expected tinybar above 0, in 53 bits, not 0',
  ],
  // More than a mirror node states exactly: every payment would be refused.
  [
    () => hederaRequirement({ ...TERMS, amountTinybar: 2n ** 53n }),
    'amountTinybar: expected tinybar above 0, in 53 bits, not 9007199254740992',
  ],
  [
    () => hederaRequirement({ ...TERMS, price: '90071993 HBAR' }),
    `price: expected an amount of HBAR above 0 such as '0.5 HBAR', not "90071993 HBAR"`,
  ],
  [
    () => hederaRequirement({ ...TERMS, payTo: '0xabc', price: '1 HBAR' }),
    'payTo: expected an account such as 0.0.1001, not "0xabc"',
  ],
  [
    () => hederaRequirement({ ...TERMS, feePayer: '11'.repeat(32), price: '1 HBAR' }),
    'feePayer: expected an account such as 0.0.1001, not 66 characters that may hold a key',
  ],
  [
    () => hederaRequirement({ ...TERMS, network: 'testnet', price: '1 HBAR' }),
    'network: expected a network such as hedera:testnet, not "testnet"',
  ],
  [
    () => createHttpFacilitator({ url: 'localhost:4020' }),
    'url: expected an http or https URL, not "localhost:4020"',
  ],
  [() => createJsonRpcLedger({ url: '' }), 'url: expected an http or https URL, not ""'],
  [() => createMirrorNode({ url: 'x' }), 'url: expected an http or https URL, not "x"'],
])('what a caller got wrong is named, with what was expected: %#', (act, message) => {
  expect(act).toThrow(new RangeError(message))
})
