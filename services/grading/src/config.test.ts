import { chooseSeed, type Environment, readConfig, requireConfig } from '@tallystick/service-kit'
import { testConfig } from '@tallystick/service-kit/service-contract'
import { describe, expect, test } from 'vitest'
import { gradingConfigSchema, paymentAsset } from './config.ts'

const PAY_TO = '0x00000000000000000000000000000000000000BB'
const OKX = { OKX_API_KEY: 'key', OKX_SECRET_KEY: 'hunter2 of okx', OKX_PASSPHRASE: 'phrase' }
const read = (environment: Environment) =>
  readConfig(gradingConfigSchema, { PAY_TO, ...environment })
const FACILITATOR_URL = 'http://127.0.0.1:4020/'

function bad(environment: Environment): readonly string[] {
  const reading = read(environment)
  return reading.kind === 'valid' ? [] : reading.problems.map(({ variable }) => variable)
}

testConfig({
  schema: gradingConfigSchema,
  good: { PAY_TO, FACILITATOR_URL },
  defaults: {
    PORT: 3003,
    BASE_URL: 'http://localhost:3003',
    DATABASE_PATH: '.local/grading.db',
    PAY_TO: PAY_TO.toLowerCase(),
    NETWORK: 'eip155:196',
    FACILITATOR_URL: 'http://127.0.0.1:4020',
  },
  bad: {
    PORT: 'hunter2',
    PAY_TO: 'hunter2',
    NETWORK: 'hunter2',
    ASSET: 'hunter2',
    LEDGER_RPC_URL: 'hunter2',
    FACILITATOR_URL: undefined,
    OKX_API_KEY: 'hunter2',
    TOKEN_SECRET: 'hunter2',
    ODDS_API_SPORTS: 'Hunter2!',
    ODDS_POLL_SECONDS: '901',
    METRICS_TOKEN: 'hunter2',
  },
  named: [
    'ASSET',
    'LEDGER_RPC_URL',
    'METRICS_TOKEN',
    'NETWORK',
    'ODDS_API_SPORTS',
    'ODDS_POLL_SECONDS',
    'OKX_SECRET_KEY',
    'PAY_TO',
    'PORT',
    'TOKEN_SECRET',
  ],
  secrets: {
    TOKEN_SECRET: 'hunter2-hunter2-hunter2-hunter2-hunter2',
    METRICS_TOKEN: 'hunter2 of 24 characters',
    CHECKPOINT_KEY: Buffer.alloc(32, 65).toString('base64'),
  },
})

describe('S2, G9: the token', () => {
  test('it is USD₮0 of X Layer without another', () => {
    const config = requireConfig(gradingConfigSchema, { PAY_TO, FACILITATOR_URL })
    expect(paymentAsset(config)).toMatchObject({
      address: '0x779Ded0c9e1022225f8E0630b35a9b54bE713736',
      name: 'USD₮0',
      version: '1',
      decimals: 6,
    })
  })

  test('another network needs the token written in full', () => {
    const ASSET = '0x9e29b3aada05bf2d2c827af80bd28dc0b9b4fb0c'
    const NETWORK = 'eip155:1952'
    expect(bad({ FACILITATOR_URL, NETWORK })).toEqual(['ASSET'])
    const reading = read({ FACILITATOR_URL, NETWORK, ASSET: `${ASSET}/USD₮0/1/6` })
    expect(reading.kind === 'valid' && paymentAsset(reading.config)).toMatchObject({
      network: NETWORK,
      address: ASSET,
    })
  })
})

describe('exactly one facilitator', () => {
  test.each([
    { row: 'none', environment: {}, variables: ['FACILITATOR_URL'] },
    { row: 'both', environment: { FACILITATOR_URL, ...OKX }, variables: ['OKX_API_KEY'] },
    {
      row: 'part of OKX beside another facilitator',
      environment: { FACILITATOR_URL, OKX_PASSPHRASE: 'x' },
      variables: ['OKX_PASSPHRASE'],
    },
    {
      row: 'OKX without its secret',
      environment: { ...OKX, OKX_SECRET_KEY: undefined },
      variables: ['OKX_SECRET_KEY'],
    },
    { row: 'OKX alone', environment: OKX, variables: [] },
    { row: 'a standard one alone', environment: { FACILITATOR_URL }, variables: [] },
  ])('$row', ({ environment, variables }) => {
    expect(bad(environment)).toEqual(variables)
  })
})

test('on PostgreSQL the checkpoint key is required: no process may make one for the others', () => {
  const DATABASE_URL = 'postgres://grading_app:hunter2@one:5432,two:5432/tallystick'
  const CHECKPOINT_KEY = Buffer.alloc(32, 65).toString('base64')
  expect(bad({ FACILITATOR_URL, DATABASE_URL })).toEqual(['CHECKPOINT_KEY'])
  expect(bad({ FACILITATOR_URL, DATABASE_URL: 'mysql://a/b', CHECKPOINT_KEY: 'short' })).toEqual([
    'DATABASE_URL',
    'CHECKPOINT_KEY',
  ])
  const environment = { PAY_TO, FACILITATOR_URL, DATABASE_URL, CHECKPOINT_KEY }
  const config = requireConfig(gradingConfigSchema, environment)
  expect(config.DATABASE_URL?.reveal()).toBe(DATABASE_URL)
  expect(chooseSeed(config)).toEqual(Buffer.alloc(32, 65))
  expect(JSON.stringify(config)).not.toContain('hunter2')
})
