import { execFile } from 'node:child_process'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { manualClock } from '@tallystick/service-kit'
import { explainsItsVerbs } from '@tallystick/service-kit/command-contract'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runOperator, verbs } from './run-operator.ts'

async function run(line: readonly string[], environment: Record<string, string> = {}) {
  const lines: string[] = []
  const print = (text: string) => void lines.push(text)
  const clock = manualClock(1_763_600_000_000)
  const stdin = Readable.from([])
  const terminal = { arguments: line, environment, clock, stdin, print, printError: print }
  const code = await runOperator(terminal)
  return { code, text: lines.join('\n') }
}

const keyHex = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'))

describe('access-operator', () => {
  explainsItsVerbs('access-operator', run)

  test('help names every verb, its arguments and the exit codes', async () => {
    const { code, text } = await run(['--help'])
    expect(code).toBe(0)
    for (const verb of verbs) expect(text).toContain(`${verb.name} ${verb.usage ?? ''}`.trim())
    expect(text).toContain('Exit codes: 0 done')
    expect((await run([])).code).toBe(2)
  })

  test('an unknown verb or option is a usage error that repeats no value', async () => {
    expect(await run(['sell'])).toMatchObject({ code: 2 })
    const { code, text } = await run(['fund', '--hbat', 'sesame'])
    expect(code).toBe(2)
    expect(text).toBe(
      'There is no --hbat. Did you mean --hbar? Usage: access-operator fund --hbar N',
    )
  })

  test.each([
    [['fund'], 'Say how much'],
    [['fund', '--hbar', 'one'], '--hbar takes an amount'],
    [['withdraw', 'everything'], 'Say what to withdraw'],
    [['set-offer', '--price-hbar', '3'], 'An offer has all three'],
    [
      ['set-offer', '--price-hbar', '3', '--period-seconds', '9', '--calls', '4294967296'],
      '--calls',
    ],
    [['recorders', 'add', 'me'], 'A recorder is an EVM address'],
    [['reap', '0x12'], 'The agent is an EVM address'],
    [['payments', 'list', '--days', '0'], '--days takes'],
    [['payments', 'close'], 'Say what to do'],
    [['pause', 'tomorrow'], 'Usage: access-operator pause'],
    [['payments', 'refund', 'that one'], 'Say which payment'],
    [['deploy', '--price-hbar', '0.00299999'], 'A period costs at least 0.003 HBAR'],
    [
      ['set-offer', '--price-hbar', '0.00000003', '--period-seconds', '3600', '--calls', '1000'],
      'A period costs at least 0.003 HBAR',
    ],
    [['deploy', '--calls', '4294967296'], '--calls takes'],
    [['deploy', '--recorders', 'me'], 'A recorder is an EVM address'],
    [['deploy'], 'Say who counts calls'],
  ])('a bad argument is a usage error and nothing is tried: %j', async (line, words) => {
    const environment = {
      OWNER_KEY: 'a1'.repeat(32),
      PAY_TO: '0.0.1001',
      PAY_TO_KEY: 'b2'.repeat(32),
      ACCESS_CONTRACT: `0x${'12'.repeat(20)}`,
      LEDGER_RPC_URL: 'http://127.0.0.1:1',
      MIRROR_URL: 'http://127.0.0.1:1',
      FACILITATOR_URL: 'http://127.0.0.1:1',
    }
    const { code, text } = await run(line, environment)
    expect(text).toContain(words)
    expect(code).toBe(2)
  })

  test('every missing or bad variable is named in one message, never with a value', async () => {
    const { code, text } = await run(['fund', '--hbar', '1'], {
      OWNER_KEY: 'sesame',
      LEDGER_CHAIN_ID: 'two',
    })
    expect(code).toBe(2)
    expect(text).toContain('OWNER_KEY: expected an ECDSA private key')
    expect(text).toContain('LEDGER_CHAIN_ID: expected an integer')
    expect(text).toContain(
      'ACCESS_CONTRACT: expected the address of the access contract (it is not set)',
    )
    expect(text).not.toContain('sesame')
  })

  test('a key as an argument is refused and never printed, wherever it stands', async () => {
    const frames = [
      (key: string) => ['fund', key],
      (key: string) => ['fund', '--key', `0x${key}`],
      (key: string) => [`--owner=${key.toUpperCase()}`, 'deploy'],
      (key: string) => ['deploy', `3030020100300706052b8104000a04220420${key}`],
    ]
    await fc.assert(
      fc.asyncProperty(keyHex, fc.constantFrom(...frames), async (key, frame) => {
        const { code, text } = await run(frame(key))
        expect(code).toBe(2)
        expect(text).toContain('looks like a private key')
        expect(text.toLowerCase()).not.toContain(key)
      }),
    )
  })

  test('a key in the environment is never printed, when the ledger is down neither', async () => {
    const LEDGER_RPC_URL = 'http://127.0.0.1:1'
    const contract = `0x${'12'.repeat(20)}`
    await fc.assert(
      fc.asyncProperty(keyHex, async (key) => {
        const environment = { OWNER_KEY: key, LEDGER_RPC_URL, ACCESS_CONTRACT: contract }
        const { code, text } = await run(['pause'], environment)
        expect(code).toBe(1)
        expect(text.toLowerCase()).not.toContain(key)
      }),
      { numRuns: 10 },
    )
  })

  test('the command runs as a process and ends with the exit code', async () => {
    const main = fileURLToPath(new URL('main.ts', import.meta.url))
    const ended = await promisify(execFile)(process.execPath, [main, 'fund'], {
      env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    }).catch((error: unknown) => error as { code: number; stderr: string })
    expect(ended).toMatchObject({ code: 2 })
    expect(ended.stderr).toContain('OWNER_KEY')
  })
})
