import { readConfig } from '@tallystick/service-kit'
import { testConfig } from '@tallystick/service-kit/service-contract'
import { describe, expect, test } from 'vitest'
import { facilitatorConfig, parseEvmAssets } from './config.ts'

const KEY = 'd289f268a25dc94a9c65c87995dabdd5d7d1ba7f0255ea97264bf7c54dc8e733'
const hedera = { FEE_PAYER: '0.0.1001', FEE_PAYER_KEY: KEY }
const EVM_RPC_URL = 'http://127.0.0.1:8546'

const servedPayTo = (text: string) =>
  readConfig(facilitatorConfig, { ...hedera, SERVED_PAY_TO: text })

// Without the EVM variables only Hedera is served.
testConfig({
  schema: facilitatorConfig,
  good: hedera,
  defaults: { EVM_CHAIN_ID: 196 },
  bad: { FEE_PAYER: undefined, FEE_PAYER_KEY: 'hunter2', EVM_KEY: KEY, PORT: 'x' },
  named: ['EVM_RPC_URL', 'FEE_PAYER', 'FEE_PAYER_KEY', 'PORT'],
  secrets: { FEE_PAYER_KEY: KEY },
})

describe('the EVM variables', () => {
  test('address and key are enough for USD₮0 on X Layer', () => {
    const reading = readConfig(facilitatorConfig, { ...hedera, EVM_RPC_URL, EVM_KEY: KEY })
    if (reading.kind !== 'valid') throw new Error('not valid')
    const { EVM_ASSETS, EVM_CHAIN_ID } = reading.config
    expect(parseEvmAssets(EVM_ASSETS, EVM_CHAIN_ID)).toMatchObject([
      { network: 'eip155:196', name: 'USD₮0', version: '1', decimals: 6 },
    ])
  })

  test.each([
    ['EVM_KEY', { EVM_RPC_URL }],
    ['EVM_RPC_URL', { EVM_KEY: KEY }],
    ['EVM_KEY', { EVM_RPC_URL, EVM_KEY: 'hunter2' }],
    ['EVM_ASSETS', { EVM_RPC_URL, EVM_KEY: KEY, EVM_ASSETS: `0x${'12'.repeat(20)}` }],
    ['EVM_CHAIN_ID', { EVM_RPC_URL, EVM_KEY: KEY, EVM_CHAIN_ID: 'x' }],
    ['EVM_ASSETS', { EVM_RPC_URL, EVM_KEY: KEY, EVM_CHAIN_ID: '8453' }],
  ])('%s is named if it is missing or unreadable, never its value', (variable, changes) => {
    const reading = readConfig(facilitatorConfig, { ...hedera, ...changes })
    expect(reading).toMatchObject({ kind: 'invalid', problems: [{ variable }] })
    expect(JSON.stringify(reading)).not.toContain('hunter2')
  })

  test('a key that is none says what it is instead', () => {
    const changes = { EVM_RPC_URL, EVM_KEY: `0x${'ab'.repeat(20)}` }
    expect(readConfig(facilitatorConfig, { ...hedera, ...changes })).toMatchObject({
      problems: [{ expected: expect.stringMatching(/; it is 20 bytes: an address\?$/) }],
    })
  })

  test('another chain needs its tokens spelled out', () => {
    const token = `0x${'12'.repeat(20)}/USD Coin/2/6`
    expect(parseEvmAssets(token, 8453)).toMatchObject([
      { network: 'eip155:8453', name: 'USD Coin' },
    ])
    expect(parseEvmAssets('0x779Ded0c9e1022225f8E0630b35a9b54bE713736', 8453)).toBeUndefined()
  })
})

test('X14: whom it serves may be said, as accounts and addresses', () => {
  const receiver = `0x${'ab'.repeat(20)}`
  expect(servedPayTo(`0.0.1002, ${receiver}`)).toMatchObject({
    kind: 'valid',
    config: { SERVED_PAY_TO: ['0.0.1002', receiver] },
  })
  expect(servedPayTo('0.0.1002,everybody')).toMatchObject({
    kind: 'invalid',
    problems: [{ variable: 'SERVED_PAY_TO' }],
  })
})
