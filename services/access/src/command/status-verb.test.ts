import { accessWindowAbi } from '@tallystick/contracts'
import { formatHbar } from '@tallystick/x402/hedera'
import { type Address, createPublicClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeTransaction } from '../adapters/contract-calls.ts'
import { WEIBAR_PER_TINYBAR } from '../adapters/ledger-facts.ts'
import {
  type DeployedStack,
  PURCHASE_TINYBAR,
  startDeployedStack,
} from './operator-stack.fixture.ts'

let stack: DeployedStack

beforeAll(async () => {
  stack = await startDeployedStack()
})

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
})

test('status says what is running out', async () => {
  const line = ['deploy', '--reserve-hbar', '1']
  const address = /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec((await stack.run(line)).out)?.[1] ?? ''
  const environment = { ACCESS_CONTRACT: address }
  const { out } = await stack.run(['status'], environment)
  expect(out).toContain('! The reserve arms 0 more renewals')
  expect(out).not.toContain('! The recorder')
  const alone = await stack.run(['status'], { ...environment, PAY_TO: '', RECORDER_KEY: '' })
  expect(alone.out).toContain('Set PAY_TO to see')
  const deaf = await stack.run(['status'], { ...environment, MIRROR_URL: 'http://127.0.0.1:1' })
  expect(deaf).toMatchObject({ code: 0 })
  expect(deaf.out).toContain('Earnings against costs are not known')
})

const deployed = async (...options: readonly string[]) => {
  const { out } = await stack.run(['deploy', '--reserve-hbar', '40', ...options])
  return { ACCESS_CONTRACT: /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec(out)?.[1] as Address }
}

test('status counts the gas of every recorder, one that counts no more included, and warns of the poorest', async () => {
  const [first, second, spare] = ['recorder', 'agent-8', 'agent-9'].map((name) =>
    stack.account(name),
  )
  const named = [first, second, spare].map((account) => account?.evmAddress)
  // Letter case does not matter, and is no checksum.
  const inAnyCase = named.map((address = '0x') => `0x${address.slice(2).toUpperCase()}`)
  const environment = await deployed('--recorders', inAnyCase.join(','))
  let spent = 0n
  for (const { privateKey = '0x', evmAddress = '0x' } of [first ?? {}, second ?? {}]) {
    const before = await stack.reader.getBalance({ address: evmAddress })
    const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
    const hash = await client.sendRawTransaction({
      serializedTransaction: await privateKeyToAccount(privateKey).signTransaction({
        ...encodeTransaction(environment.ACCESS_CONTRACT, {
          functionName: 'recordUsage',
          args: [evmAddress, 1, 0n],
          valueTinybar: 0n,
          gas: 100_000n,
        }),
        type: 'legacy',
        chainId: stack.devnet.chainId,
        nonce: await client.getTransactionCount({ address: evmAddress }),
        gasPrice: await client.getGasPrice(),
      }),
    })
    await client.waitForTransactionReceipt({ hash, pollingInterval: 50 })
    spent += before - (await stack.reader.getBalance({ address: evmAddress }))
  }
  expect(spent).toBeGreaterThan(0n)
  expect(await stack.run(['recorders', 'remove', named[1] ?? ''], environment)).toMatchObject({
    code: 0,
  })
  const { out } = await stack.run(['status'], { ...environment, RECORDER_KEY: '' })
  expect(out).toContain(`- recorder ${formatHbar(spent / WEIBAR_PER_TINYBAR)} for counting calls`)
  const listed = Array.from(
    out.matchAll(/^Recorder +(0x[0-9a-f]{40}) holds/gm),
    ([, address]) => address,
  )
  expect(listed).toEqual([named[0], named[2]])
  expect(out).not.toContain('! The recorder')
  await stack.devnet.controls.setBalanceTinybar(spare?.evmAddress ?? '0x', 1n)
  const poor = (await stack.run(['status'], environment)).out
  expect(poor).toContain('! The recorder holds 0.00000001 HBAR')
})

test('status has a row for each slot: when its windows end, its agents, and whether the next renewal is armed', async () => {
  const environment = await deployed('--period-seconds', '3600', '--slot-seconds', '900')
  expect((await stack.run(['status'], environment)).out).not.toContain('Slot ')
  for (const name of ['agent-6', 'agent-7']) {
    const from = stack.account(name)
    const id = await stack.pay({ from, amountTinybar: PURCHASE_TINYBAR })
    expect(await stack.run(['payments', 'open', id], environment)).toMatchObject({ code: 0 })
  }
  const window = {
    abi: accessWindowAbi,
    address: environment.ACCESS_CONTRACT,
    functionName: 'windowOf',
    args: [stack.account('agent-6').evmAddress, BigInt(Math.floor(stack.clock.unixMs() / 1000))],
  } as const
  const { expiresAt, schedule } = await stack.reader.readContract(window)
  const end = new Date(Number(expiresAt) * 1000).toISOString().replace('.000Z', 'Z')
  const { out } = await stack.run(['status'], environment)
  const [, next = '', rest] = /^Slot +(\S+) and every 3600 s: (.+)$/m.exec(out) ?? []
  expect((Number(expiresAt) - Date.parse(next) / 1000) % 3600).toBe(0)
  expect(rest).toBe(`2 agents, armed for ${end} by 0.0.${BigInt(schedule)}`)
})

test('status does not read slots one by one where thousands are possible', async () => {
  const environment = await deployed('--period-seconds', '3600', '--slot-seconds', '1')
  expect((await stack.run(['status'], environment)).out).toMatch(/^Slots +not listed: over 128/m)
})
