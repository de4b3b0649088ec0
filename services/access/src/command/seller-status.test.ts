import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type DeployedStack,
  PURCHASE_TINYBAR,
  startDeployedStack,
} from './operator-stack.fixture.ts'

let stack: DeployedStack

beforeAll(async () => {
  stack = await startDeployedStack()
}, 60_000)

afterAll(() => stack.stop())

test('status shows earnings against costs so far, to the tinybar, also after money went in and out', async () => {
  const line = ['deploy', '--reserve-hbar', '40']
  const address = /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec((await stack.run(line)).out)?.[1] ?? ''
  const environment = { ACCESS_CONTRACT: address as Address }
  const payTo = stack.account('pay-to').evmAddress
  const from = stack.account('agent-6')
  const id = await stack.pay({ from, amountTinybar: PURCHASE_TINYBAR })
  const before = await stack.reader.getBalance({ address: payTo })
  expect(await stack.run(['payments', 'open', id], environment)).toMatchObject({ code: 0 })
  const after = await stack.reader.getBalance({ address: payTo })
  const forward = (before - after) / 10_000_000_000n - PURCHASE_TINYBAR
  await stack.run(['withdraw', 'earnings', '--hbar', '2'], environment)
  await stack.run(['fund', '--hbar', '5'], environment)
  await stack.run(['withdraw', 'reserve', '--hbar', '1.5'], environment)
  const { out, err } = await stack.run(['status'], environment)
  expect(err).toBe('')
  const amount = (name: string) =>
    BigInt(Math.round(Number(new RegExp(`^${name} +([-.\\d]+) HBAR`, 'm').exec(out)?.[1]) * 1e8))
  expect(amount('So far')).toBe(300_000_000n)
  expect(amount('- reserve')).toBe(0n)
  expect(amount('- payTo')).toBe(forward)
  expect(amount('- recorder')).toBe(0n)
  expect(amount('Profit')).toBe(300_000_000n - forward)

  await stack.devnet.controls.advanceSeconds(25)
  const later = (await stack.run(['status'], environment)).out
  const renewal = Number(/^- reserve +([\d.]+) HBAR/m.exec(later)?.[1])
  expect(renewal).toBeGreaterThan(1.5)
  expect(renewal).toBeLessThan(1.7)
}, 60_000)

test('status says what is running out', async () => {
  const line = ['deploy', '--reserve-hbar', '1']
  const address = /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec((await stack.run(line)).out)?.[1] ?? ''
  const environment = { ACCESS_CONTRACT: address }
  const { out } = await stack.run(['status'], environment)
  expect(out).toContain('! The reserve arms 0 more renewals')
  expect(out).not.toContain('! The recorder')
  const alone = await stack.run(['status'], { ...environment, RECORDER_KEY: '' })
  expect(alone.out).toContain('Set PAY_TO and RECORDER_KEY')
  const deaf = await stack.run(['status'], { ...environment, MIRROR_URL: 'http://127.0.0.1:1' })
  expect(deaf).toMatchObject({ code: 0 })
  expect(deaf.out).toContain('Earnings against costs are not known')
})
