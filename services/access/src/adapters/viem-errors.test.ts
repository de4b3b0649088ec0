import { describe, expect, test } from 'vitest'
import { revertName } from './ledger-client.ts'

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
})
