import { describe, expect, test } from 'vitest'
import { isNoContract, isNotFound, revertName, sendRefusal } from './viem-errors.ts'

const named = (name: string, fields: object = {}): Error =>
  Object.assign(new Error(name), { name, ...fields })

describe('what viem’s errors mean', () => {
  test('a contract’s error is named, however deep it lies', () => {
    const cause = named('ContractFunctionRevertedError', {
      data: { errorName: 'AccessWindow_NotOverdue' },
    })
    expect(revertName(new Error('outer', { cause }))).toBe('AccessWindow_NotOverdue')
    expect(revertName(named('ContractFunctionRevertedError'))).toBe('reverted')
    expect(revertName(new Error('fetch failed'))).toBeUndefined()
  })

  test('no contract and no receipt are told from a failure', () => {
    for (const name of ['ContractFunctionZeroDataError', 'AbiDecodingZeroDataError'])
      expect(isNoContract(new Error('outer', { cause: named(name) }))).toBe(true)
    expect(isNoContract(new Error('timeout'))).toBe(false)
    expect(isNotFound(named('TransactionReceiptNotFoundError'))).toBe(true)
    expect(isNotFound(new Error('timeout'))).toBe(false)
  })

  test.each([
    ['Nonce too low. Provided nonce: 3, current nonce: 7', { kind: 'nonce', expected: 7 }],
    ['WRONG_NONCE', { kind: 'nonce', expected: undefined }],
    ['already known', { kind: 'known' }],
    ['Insufficient funds for transfer', { kind: 'insufficient-funds' }],
    ["Gas price '1' is below configured minimum gas price '109'", { kind: 'gas-price' }],
    ['fetch failed', { kind: 'unclear' }],
  ])('a refused send: %s', (message, refusal) => {
    expect(sendRefusal(new Error(message))).toEqual(refusal)
    expect(sendRefusal(Object.assign(new Error('outer'), { details: message }))).toEqual(refusal)
  })
})
