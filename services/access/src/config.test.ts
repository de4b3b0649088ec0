import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig, requireConfig } from '@tallystick/service-kit'
import { testConfig } from '@tallystick/service-kit/service-contract'
import { describe, expect, test } from 'vitest'
import { accessConfigSchema, relayCallsPerMinute } from './config.ts'

const KEY = `0x${'a1'.repeat(32)}`
const good = { PAY_TO: '0.0.1001', PAY_TO_KEY: KEY, RECORDER_KEY: 'b2'.repeat(32) }

testConfig({
  schema: accessConfigSchema,
  good,
  defaults: {
    PORT: 3001,
    SERVICE_NAME: 'svc',
    NETWORK: 'hedera:testnet',
    LEDGER_CHAIN_ID: 296,
    PERIODS_PER_PURCHASE: 4,
    RECORDER_COUNT: 1,
  },
  bad: {
    PAY_TO: 'me',
    PAY_TO_KEY: 'hunter2',
    ACCESS_CONTRACT: '0x12',
    NETWORK: 'hedera:previewnet',
    FEE_PAYERS: 'a,b',
    SERVICE_NAME: 'A/b',
    PERIODS_PER_PURCHASE: '0',
  },
  secrets: {
    PAY_TO_KEY: KEY,
    RECORDER_KEY: good.RECORDER_KEY,
    SESSION_SECRET: 'x'.repeat(32),
    ALERT_WEBHOOK_URL: 'https://hooks.example/T0/sesame',
  },
})

describe('S3: the environment of access', () => {
  test.each([
    ['zero', '0'.repeat(64)],
    ['beyond the curve', 'f'.repeat(64)],
  ])('a key that is %s is named, not thrown on with its value', (_what, key) => {
    const reading = readConfig(accessConfigSchema, { ...good, RECORDER_KEY: key })
    expect(reading).toMatchObject({ problems: [{ variable: 'RECORDER_KEY' }] })
  })

  test.each([
    ['https://hooks.example/T0/sesame', 'valid'],
    ['http://127.0.0.1:9/sesame', 'valid'],
    ['http://hooks.example/sesame', 'invalid'],
    ['sesame', 'invalid'],
  ])('alerts go by https, or to this machine, and the address is a secret: %s', (url, kind) => {
    const reading = readConfig(accessConfigSchema, { ...good, ALERT_WEBHOOK_URL: url })
    expect(reading.kind).toBe(kind)
    expect(JSON.stringify(reading)).not.toContain('sesame')
  })

  test('A17: several processes need one SESSION_SECRET, and one process none', () => {
    const several = { ...good, RECORDER_COUNT: '2' }
    const problem = { variable: 'SESSION_SECRET', expected: expect.stringContaining('32 bytes') }
    expect(readConfig(accessConfigSchema, several)).toEqual({
      kind: 'invalid',
      problems: [problem],
    })
    const shared = { ...several, SESSION_SECRET: 'x'.repeat(32) }
    expect(readConfig(accessConfigSchema, shared)).toMatchObject({ kind: 'valid' })
    const short = readConfig(accessConfigSchema, { ...good, SESSION_SECRET: 'hunter2' })
    expect(short).toMatchObject({ problems: [{ variable: 'SESSION_SECRET' }] })
    expect(JSON.stringify(short)).not.toContain('hunter2')
  })

  test.each([
    [{ RELAY_CALLS_PER_MINUTE: 100, RECORDER_COUNT: 1 }, 100],
    [{ RELAY_CALLS_PER_MINUTE: 100, RECORDER_COUNT: 3 }, 33],
    [{ RELAY_CALLS_PER_MINUTE: 2, RECORDER_COUNT: 3 }, 1],
    [{ RELAY_CALLS_PER_MINUTE: 0, RECORDER_COUNT: 3 }, 0],
    [{ RELAY_CALLS_PER_MINUTE: undefined, RECORDER_COUNT: 4 }, 25],
  ])('A14: the relay’s budget is one of all processes: %j leaves each %d', (config, calls) => {
    expect(relayCallsPerMinute({ ...config, LEDGER_RPC_URL: 'https://relay.example' })).toBe(calls)
  })

  test('keys come from files as well, and never show', () => {
    const folder = mkdtempSync(join(tmpdir(), 'access-config-'))
    try {
      const path = join(folder, 'key')
      writeFileSync(path, `${KEY}\n`)
      const { PAY_TO, RECORDER_KEY } = good
      const environment = { PAY_TO, RECORDER_KEY, PAY_TO_KEY_FILE: path }
      const config = requireConfig(accessConfigSchema, environment)
      expect(config.PAY_TO_KEY.reveal()).toBe(KEY)
      expect(JSON.stringify(config)).not.toContain('a1a1')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('lists and addresses are read as the service needs them', () => {
    const reading = readConfig(accessConfigSchema, {
      ...good,
      FEE_PAYERS: '0.0.2, 0.0.3',
      ACCESS_CONTRACT: '0x00000000000000000000000000000000000C0DE0',
    })
    expect(reading).toMatchObject({
      config: {
        FEE_PAYERS: ['0.0.2', '0.0.3'],
        ACCESS_CONTRACT: '0x00000000000000000000000000000000000c0de0',
      },
    })
  })
})
