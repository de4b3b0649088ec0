// Runs the commands of docs/how-to/move-to-a-new-contract.md, in their order.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accessWindowAbi } from '@tallystick/contracts'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type DeployedStack,
  PURCHASE_TINYBAR,
  startDeployedStack,
} from './operator-stack.fixture.ts'

const page = readFileSync(
  new URL('../../../../docs/how-to/move-to-a-new-contract.md', import.meta.url),
  'utf8',
)
const commands = [...page.matchAll(/^npm run --silent access-operator -- ([^|\n]*\w)/gm)].map(
  ([, line = '']) => line.split(' '),
)
const [exported = ''] = /^export [^`]*/m.exec(page) ?? []

let stack: DeployedStack
const folder = mkdtempSync(join(tmpdir(), 'move-contract-'))

beforeAll(async () => {
  stack = await startDeployedStack()
})

afterAll(async () => {
  await stack.stop()
  rmSync(folder, { recursive: true })
})

test('A23: the way to a new contract: old windows run out on theirs, and no old sale is paid back', async () => {
  const agent = stack.account('agent-1')
  const id = await stack.pay({ from: agent, amountTinybar: PURCHASE_TINYBAR })
  expect(await stack.run(['payments', 'open', id], stack.deployed)).toMatchObject({ code: 0 })
  const isOpen = async (address: Address): Promise<boolean> => {
    const now = BigInt(Math.floor(stack.devnet.clock.unixMs() / 1_000))
    return await stack.reader.readContract({
      abi: accessWindowAbi,
      address,
      functionName: 'hasAccess',
      args: [agent.evmAddress, now],
    })
  }
  let environment: Record<string, string> = stack.deployed
  const run = async (line: readonly string[]): Promise<string> => {
    const { code, out, err } = await stack.run(line, environment)
    expect({ line, code, err }).toEqual({ line, code: 0, err: '' })
    return out
  }
  const [
    pause = [],
    payments = [],
    status = [],
    earnings = [],
    reserve = [],
    deploy = [],
    again = [],
  ] = commands
  expect(commands).toHaveLength(7)
  await run(pause)
  expect(await run(payments)).toContain('0 pending')
  // the four periods that were paid for, to their end, while sales rest
  await stack.devnet.controls.advanceSeconds(50)
  expect(await isOpen(stack.contract)).toBe(true)
  await stack.devnet.controls.advanceSeconds(40)
  expect(await isOpen(stack.contract)).toBe(false)
  const rest = await run(status)
  expect(rest).toMatch(/Deposits +0 HBAR/)
  expect(rest).toMatch(/Locked +0 HBAR/)
  expect(rest).toMatch(/Earned +12 HBAR/)
  await run(earnings)
  await run(reserve)
  writeFileSync(join(folder, 'deployed.txt'), await run(deploy))
  const shown = `${exported}echo "$ACCESS_CONTRACT $PREVIOUS_CONTRACTS"`
  const [ACCESS_CONTRACT = '', PREVIOUS_CONTRACTS = ''] = execFileSync('bash', ['-euc', shown], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ACCESS_CONTRACT: stack.contract },
    encoding: 'utf8',
  }).split(/\s/)
  expect([ACCESS_CONTRACT, PREVIOUS_CONTRACTS]).toEqual([
    expect.stringMatching(/^0x[0-9a-f]{40}$/),
    stack.contract,
  ])
  environment = { ACCESS_CONTRACT, PREVIOUS_CONTRACTS }
  expect(await run(again)).toContain(`opened for ${agent.evmAddress}`)
  const refund = await stack.run(['payments', 'refund', id, '--although-pending'], environment)
  expect(refund.err).toContain('It was opened for')

  const next = await stack.pay({ from: agent, amountTinybar: PURCHASE_TINYBAR })
  expect(await stack.run(['payments', 'open', next], environment)).toMatchObject({ code: 0 })
  expect(await isOpen(environment.ACCESS_CONTRACT as Address)).toBe(true)
  expect(await isOpen(stack.contract)).toBe(false)
})
