import { describe, expect, test } from 'vitest'
import { findSlips } from './variable-slips.ts'

const KNOWN = new Set(['PORT', 'HOST', 'SEAL_KEYS', 'SEAL_KEYS_FILE', 'TOKEN_SECRET', 'BASE_URL'])

describe('S11: a variable one slip away from a known one', () => {
  test.each([
    ['SEAL_KEY', 'SEAL_KEYS'],
    ['SEALKEYS', 'SEAL_KEYS'],
    ['SEAL_KESY', 'SEAL_KEYS'],
    ['SEEL_KEYS', 'SEAL_KEYS'],
    ['SEAL_KEY_FILE', 'SEAL_KEYS_FILE'],
    ['TOKEN_SECRETS', 'TOKEN_SECRET'],
    ['TOKENS_SECRET', 'TOKEN_SECRET'],
    ['BASE_URLS', 'BASE_URL'],
    ['PROT', 'PORT'],
    ['HOSTS', 'HOST'],
    ['seal_keys', 'SEAL_KEYS'],
    ['Seal_Keys_File', 'SEAL_KEYS_FILE'],
    ['seal_key', 'SEAL_KEYS'],
  ])('%s is named with %s', (variable, meant) => {
    expect(findSlips([variable], KNOWN)).toEqual([{ variable, meant }])
  })

  test.each([
    'PATH',
    'HOSTNAME',
    'SORT',
    'POST',
    'HOME',
    'DATABASE_URL',
    'CARE_SERVICE_PORT',
    'CARE_PORT_8080_TCP_PORT',
    'SEAL_KEYS_2_OLD',
    'KEYS_SEAL',
  ])('%s is another program’s', (variable) => {
    expect(findSlips([variable], KNOWN)).toEqual([])
  })

  test.each(['CARE_SEAL_KEYS', 'care_seal_keys'])(
    '%s is a slip of a guard with a prefix, and of nothing else',
    (variable) => {
      const meant = { variable, meant: 'SEAL_KEYS' }
      expect(findSlips([variable, 'VITE_BASE_URL'], KNOWN, ['SEAL_KEYS'])).toEqual([meant])
      expect(findSlips([variable], KNOWN)).toEqual([])
    },
  )

  test('a known one is none, however near it is to another', () => {
    expect(findSlips(['FEE_PAYER', 'FEE_PAYERS'], new Set(['FEE_PAYER', 'FEE_PAYERS']))).toEqual([])
  })
})
