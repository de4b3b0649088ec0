import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { explainsItsVerbs } from '@tallystick/service-kit/command-contract'
import { canonicalTransactionId } from '@tallystick/x402/hedera'
import * as fc from 'fast-check'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { StatusBody } from '../access-answers.ts'
import {
  type Answer,
  challenge,
  endedBody,
  failed,
  granted,
  hurriedClock,
  readTransaction,
  type StandIn,
  signedTransfer,
  startStandIn,
  statusBody,
} from '../access-stand-in.fixture.ts'
import { EXIT } from './output.ts'
import { runAgentHere } from './run-agent.fixture.ts'
import { outcomeLines } from './sentences.ts'

const KEY = `${'0'.repeat(63)}7`
const folder = mkdtempSync(join(tmpdir(), 'agent-'))

let service: StandIn

beforeEach(async () => {
  service = await startStandIn()
})
afterEach(async () => {
  await service.stop()
})
afterAll(() => rmSync(folder, { recursive: true }))

const run = (
  line: readonly string[],
  environment: Readonly<Record<string, string>> = { AGENT_KEY: KEY },
) =>
  runAgentHere({
    arguments: line,
    environment: {
      ACCESS_URL: service.baseUrl,
      AGENT_ACCOUNT_ID: '0.0.1004',
      // Nobody listens there: what a person would see whose ledger is down.
      LEDGER_RPC_URL: 'http://127.0.0.1:1',
      ...environment,
    },
    clock: hurriedClock(),
  })

/** The lines for a status that has a reason, unless the change takes it away. */
function statusSaid(change: object) {
  const status = StatusBody.parse(statusBody({ ended: endedBody, ...change }))
  return outcomeLines({ kind: 'status', status }, '0x')
}

const keyHex = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'))

describe('pay', () => {
  test('without a maximum it says the price and how to pay it, and signs nothing', async () => {
    const { code, out } = await run(['pay'])
    expect(code).toBe(EXIT.paymentNeeded)
    expect(out).toContain('One costs 12 HBAR, paid to 0.0.1002.')
    expect(out).toContain('Nothing was signed. To pay that: pay --max-hbar 12')
    expect(service.payments).toEqual([undefined])
  })

  test('with a maximum it pays and says what came of it in HBAR', async () => {
    service.script(challenge(), granted(true))
    const { code, out } = await run(['pay', '--max-hbar', '12'])
    expect(code).toBe(EXIT.done)
    expect(out).toContain(`Paid 12 HBAR from 0.0.1004: ${readTransaction(service.payments[1])}`)
    expect(out).toContain('9 HBAR are left for renewals')
    expect(out).toContain('19 calls left in this window.')
    expect(out).toContain(`recorded on the ledger by 0x${'ab'.repeat(32)}`)
    expect(out).toContain('"hbarUsd": 0.08')
    expect(out).toContain('The window is not guarded: whoever knows the agent’s address')
    expect(out).toContain('Try: guard on')
  })

  test('A17: --unguarded leaves the window as it is', async () => {
    service.script(challenge(), granted(true))
    const { out } = await run(['pay', '--max-hbar', '12', '--unguarded'])
    expect(out).not.toContain('guard')
  })

  test('--json gives one object with amounts in tinybar', async () => {
    service.script(challenge(), granted(true))
    const { out } = await run(['pay', '--max-hbar', '12', '--json'])
    expect(JSON.parse(out)).toMatchObject({
      kind: 'granted',
      payment: { amountTinybar: '1200000000' },
      subscription: { balanceTinybar: '900000000' },
    })
  })

  test.for<[string, Answer[], number]>([
    ['the quota is spent', [failed(429, 'quota_exhausted', 12)], EXIT.quotaSpent],
    ['a payment is pending', [failed(502, 'payment_pending', 2)], EXIT.paymentPending],
    ['calls come too fast', [failed(429, 'too_many_requests', 1)], EXIT.failed],
    ['the service is down', [failed(503, 'contract_absent')], EXIT.failed],
    ['the payment is refused', [challenge(), challenge({}, 'insufficient_funds')], EXIT.failed],
    ['the window is open', [granted(false)], EXIT.done],
  ])('has an exit code of its own when %s', async ([, answers, code]) => {
    service.script(...answers)
    expect((await run(['pay', '--max-hbar', '12'])).code).toBe(code)
  })

  test('where the window opened after the payment was signed it says what is known', async () => {
    service.script(challenge(), granted(false))
    const { code, out } = await run(['pay', '--max-hbar', '12'])
    const { transactionId } = signedTransfer(service.payments[1])
    expect(code).toBe(EXIT.done)
    expect(out).not.toMatch(/nothing was (signed|paid)/)
    expect(out).toContain('A payment of 12 HBAR was signed, and the service does not say')
    expect(out).toContain(`the ledger shows: ${canonicalTransactionId(transactionId)}\n`)
    expect(out).toContain('9 HBAR are left for renewals')
  })

  test('where the window was open before it says that nothing was signed', async () => {
    service.script(granted(false))
    const { out } = await run(['pay', '--max-hbar', '12'])
    expect(out).toContain('The window is open: no payment was signed and nothing was paid.')
  })

  test('while the same payment is resent a person is told', async () => {
    service.script(challenge(), failed(502, 'payment_pending', 1), granted(true))
    const { out } = await run(['pay', '--max-hbar', '12'])
    expect(out).toContain('the same payment is sent again')
  })
})

describe('arguments and environment', () => {
  test.for([
    [['sell'], 'The verbs are: pay, status, watch, cancel, topup, guard, buy.'],
    [['stauts'], 'Did you mean status?'],
    [['buy'], 'Say what to buy: buy URL.'],
    [['buy', 'ftp://shop.example'], 'Say what to buy: buy URL.'],
    [['buy', 'http://shop.example', '--data', '{'], '--data takes JSON'],
    [['buy', 'http://shop.example', '--max-usdc', '0.0000001'], 'with at most 6 decimals'],
    [['buy', 'http://shop.example', '--max-token', '0.0.7001'], '--max-token takes a token'],
    [['buy', 'http://shop.example', '--max-token', '0.0.0=1'], '--max-token takes a token'],
    [['pay', '--max-usdc', '12'], 'There is no --max-usdc'],
    [['pay', '--max-hbr', '12'], 'Did you mean --max-hbar?'],
    [['pay', '--max-hbar', 'lots'], '--max-hbar takes HBAR'],
    [['pay', '--for', '0x12'], '--for takes an EVM address'],
    [['topup'], 'Say how much to add'],
    [['topup', '--hbar', '0'], 'Say how much to add'],
    [['cancel', '--for', `0x${'12'.repeat(20)}`], 'There is no --for'],
    [['guard', 'on', '--for', `0x${'12'.repeat(20)}`], 'There is no --for'],
    [['guard'], 'Say guard on or guard off'],
    [['guard', 'maybe'], 'Say guard on or guard off'],
    [['pay', 'on'], 'Usage: tallystick-agent pay'],
    [['watch', '--until-renewals', '0'], 'whole number above 0'],
    [['watch', '--ends-within', '1h'], 'whole number of seconds'],
  ] as const)('%j is a usage error', async ([line, message]) => {
    const { code, err } = await run(line)
    expect(code).toBe(EXIT.usage)
    expect(err).toContain(message)
    expect(service.urls).toEqual([])
  })

  test('A16: topup sends money to the contract in ACCESS_CONTRACT, and to none that the service names', async () => {
    const { code, err } = await run(['topup', '--hbar', '1'])
    expect(code).toBe(EXIT.usage)
    expect(err).toContain('ACCESS_CONTRACT: expected the contract that gets the money')
    expect(service.urls).toEqual([])
  })

  test('A26: a top-up at retired terms is refused in words', () => {
    const outcome = { kind: 'refused', errorName: 'AccessWindow_OfferRetired' } as const
    expect(outcomeLines(outcome, '0x')[0]).toMatch(/no new money at the terms of this window/)
    expect(outcomeLines({ ...outcome, errorName: 'Other' }, '0x')).toEqual([
      'The contract refuses: Other.',
    ])
  })

  test('A27: a status says why access has ended, or why calls are not served', () => {
    expect(statusSaid({ hasAccess: false })[0]).toMatch(
      /^No window is open for 0x.*\. Spent: since /,
    )
    expect(statusSaid({}).at(-1)).toBe(endedBody.sentence)
    expect(statusSaid({ hasAccess: false, ended: null })[0]).toMatch(
      /^No window is open for 0x\w+\.$/,
    )
  })

  explainsItsVerbs('tallystick-agent', async (line) => {
    const { code, err, out } = await run(line)
    return { code, text: out + err }
  })

  test('S15: beside a local stack the command is one of its agents, without any variable', async () => {
    const stackFile = join(folder, 'stack.json')
    const agent = {
      AGENT_KEY: KEY,
      AGENT_ACCOUNT_ID: '0.0.1004',
      ACCESS_URL: service.baseUrl,
    }
    writeFileSync(
      stackFile,
      JSON.stringify({ process: { pid: process.pid }, environments: { agent } }),
    )
    const line = { environment: {}, clock: hurriedClock() }
    const found = await runAgentHere({ ...line, arguments: ['status'], stackFile })
    expect(found).toMatchObject({ code: EXIT.done, err: `On the stack of ${stackFile}.` })
    const named = ['status', '--stack', stackFile]
    expect(await runAgentHere({ ...line, arguments: named })).toMatchObject({ code: EXIT.done })
    expect(service.urls).toHaveLength(2)
  })

  test('--help names the verbs, the variables and the exit codes', async () => {
    const { code, out } = await run(['--help'])
    expect(code).toBe(0)
    for (const word of ['pay', 'watch', 'AGENT_KEY_FILE', 'Exit codes']) expect(out).toContain(word)
  })

  test('every bad variable is named at once, never with a value', async () => {
    const { code, err } = await run(['pay'], {
      AGENT_KEY: 'sesame',
      LEDGER_CHAIN_ID: 'two',
      ACCESS_URL: 'x',
    })
    expect(code).toBe(EXIT.usage)
    for (const name of ['AGENT_KEY', 'LEDGER_CHAIN_ID', 'ACCESS_URL']) expect(err).toContain(name)
    expect(err).not.toMatch(/sesame|two/)
  })

  test('a key that is none of the curve’s is named, and never shown', async () => {
    const { code, err } = await run(['pay'], { AGENT_KEY: 'f'.repeat(64) })
    expect(code).toBe(EXIT.usage)
    expect(err).toContain('AGENT_KEY: expected')
    const address = await run(['pay'], { AGENT_KEY: `0x${'a1'.repeat(20)}` })
    expect(address.err).toContain('it is 20 bytes: an address?')
    expect(err).not.toMatch(/ffff|115792/)
  })

  test('status and watch need no key when --for says whose window', async () => {
    const line = ['status', '--for', `0x${'12'.repeat(20)}`]
    expect(await run(line, {})).toMatchObject({ code: EXIT.done })
    expect(await run(['status'], {})).toMatchObject({ code: EXIT.usage })
  })

  test('S11: a slip in the name of a key is refused, of another variable named', async () => {
    const refused = await run(['status'], { AGENT_KEYS: KEY })
    expect(refused).toMatchObject({ code: EXIT.usage })
    expect(refused.err).toContain('AGENT_KEYS: expected the name AGENT_KEY')
    expect(refused.err).not.toContain(KEY)
    const warned = await run(['status'], { AGENT_KEY: KEY, MIRROR_URLS: 'x' })
    expect(warned.err).toContain('Nobody reads MIRROR_URLS; is MIRROR_URL meant?')
  })

  test('a key comes from a file as well, and not from both', async () => {
    const file = join(folder, 'key')
    writeFileSync(file, `0x${KEY}\n`, { mode: 0o600 })
    expect((await run(['status'], { AGENT_KEY_FILE: file })).code).toBe(EXIT.done)
    const both = await run(['status'], { AGENT_KEY_FILE: file, AGENT_KEY: KEY })
    expect(both).toMatchObject({ code: EXIT.usage })
    expect(both.err).toContain('not both')
    expect((await run(['status'], { AGENT_KEY_FILE: `${file}x` })).err).toContain('readable file')
  })

  test('a key as an argument is refused and never printed, wherever it stands', async () => {
    const frames = [
      (key: string) => ['pay', key],
      (key: string) => ['pay', '--key', `0x${key}`],
      (key: string) => ['pay', `--key=${key.toUpperCase()}`],
      (key: string) => ['--for', key, 'status'],
      (key: string) => ['pay', `3030020100300706052b8104000a04220420${key}`],
    ]
    await fc.assert(
      fc.asyncProperty(keyHex, fc.constantFrom(...frames), async (key, frame) => {
        const { code, err, out } = await run(frame(key))
        expect(code).toBe(EXIT.usage)
        expect(err).toContain('looks like a private key')
        expect(`${err}${out}`.toLowerCase()).not.toContain(key)
      }),
    )
  })

  test('a key from the environment is never printed, whatever the verb, the output and the answer', async () => {
    const lines = [
      ['pay', '--max-hbar', '12', '--unguarded'],
      ['pay', '--max-hbar', '12', '--unguarded', '--json'],
      ['guard', 'on'],
      ['status', '--json'],
      ['cancel'],
      ['topup', '--hbar', '1', '--json'],
    ] as const
    const answers: Answer[] = [granted(true), challenge({}, 'refused'), failed(502, 'x', 300)]
    const cases = lines.flatMap((line) => answers.map((answer) => ({ line, answer })))
    // At once, each with a stand-in of its own: a ledger that is down is asked again for a second.
    const said = async (key: string, { line, answer }: (typeof cases)[number]) => {
      const own = await startStandIn()
      own.script(challenge(), answer)
      const { out, err } = await run(line, { AGENT_KEY: key, ACCESS_URL: own.baseUrl })
      await own.stop()
      return `${out}${err}`.toLowerCase()
    }
    await fc.assert(
      fc.asyncProperty(keyHex, async (key) => {
        const texts = await Promise.all(cases.map((argv) => said(key, argv)))
        for (const text of texts) expect(text).not.toContain(key)
      }),
      { numRuns: 3 },
    )
  })
})
