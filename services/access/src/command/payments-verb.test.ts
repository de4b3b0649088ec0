import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type DeployedStack,
  HBAR,
  PURCHASE_TINYBAR,
  startDeployedStack,
} from './operator-stack.fixture.ts'

let stack: DeployedStack

beforeAll(async () => {
  stack = await startDeployedStack()
})

afterAll(() => stack.stop())

describe('A15: payments', () => {
  test('lists credits as opened, pending, refused and refunded; open and refund settle one', async () => {
    const agent = stack.account('agent-1')
    const stranger = stack.account('agent-2')
    const named = await stack.pay({
      from: agent,
      amountTinybar: PURCHASE_TINYBAR,
      memo: `x402:${agent.evmAddress}`,
    })
    const odd = await stack.pay({ from: stranger, amountTinybar: 5n * HBAR })

    const first = await stack.run(['payments'], stack.deployed)
    expect(first.err).toBe('')
    expect(first.out).toContain(`pending for ${agent.evmAddress}`)
    expect(first.out).toContain('refused: it is no whole purchase at a price of that time')
    expect(first.out).toContain('17 HBAR in 30 days: 0 opened, 1 pending, 1 refused, 0 refunded.')

    const opened = await stack.run(['payments', 'open', named], stack.deployed)
    expect(opened).toMatchObject({ code: 0, err: '' })
    expect(opened.out).toContain(`The window of ${agent.evmAddress} is open.`)
    expect((await stack.run(['payments', 'open', named], stack.deployed)).err).toContain(
      'It was opened before',
    )
    expect((await stack.run(['payments', 'refund', named], stack.deployed)).err).toContain(
      'It was opened for',
    )
    expect((await stack.run(['payments', 'open', odd], stack.deployed)).err).toContain(
      'It cannot be opened',
    )

    const before = await stack.reader.getBalance({ address: stranger.evmAddress })
    const refunded = await stack.run(['payments', 'refund', odd], stack.deployed)
    expect(refunded).toMatchObject({ code: 0, err: '' })
    expect(refunded.out).toContain(`5 HBAR went back to ${stranger.accountId}`)
    const after = await stack.reader.getBalance({ address: stranger.evmAddress })
    expect(after - before).toBe(5n * HBAR * 10_000_000_000n)
    expect((await stack.run(['payments', 'refund', odd], stack.deployed)).err).toBe(
      'It was refunded before.',
    )
    const last = await stack.run(['payments', 'list'], stack.deployed)
    expect(last.out).toContain('1 opened, 0 pending, 0 refused, 1 refunded.')
  })

  test('a pending purchase is only refunded when the operator says that no service opens it', async () => {
    const from = stack.account('agent-3')
    const id = await stack.pay({ from, amountTinybar: PURCHASE_TINYBAR })
    const { code, err } = await stack.run(['payments', 'refund', id], stack.deployed)
    expect(code).toBe(1)
    expect(err).toContain('--although-pending')
    const line = ['payments', 'refund', id, '--although-pending']
    expect(await stack.run(line, stack.deployed)).toMatchObject({ code: 0, err: '' })
    expect((await stack.run(['payments', 'open', id], stack.deployed)).err).toBe(
      'It was refunded and stays closed.',
    )
  })

  test('the same refund asked for by five operators at once is paid once', async () => {
    const from = stack.account('agent-4')
    const before = await stack.reader.getBalance({ address: from.evmAddress })
    const id = await stack.pay({ from, amountTinybar: 2n * HBAR })
    const line = ['payments', 'refund', id]
    const results = await Promise.all(
      Array.from({ length: 5 }, async () => await stack.run(line, stack.deployed)),
    )
    expect(results.filter(({ code }) => code === 0).length).toBeGreaterThanOrEqual(1)
    expect(await stack.reader.getBalance({ address: from.evmAddress })).toBe(before)
    const { out } = await stack.run(['payments'], stack.deployed)
    expect(out.split('\n').filter((line2) => line2.includes(id)).length).toBe(1)
  })

  test('a refund that is under way is not submitted again by a second operator', async () => {
    const from = stack.account('agent-5')
    const before = await stack.reader.getBalance({ address: from.evmAddress })
    const id = await stack.pay({ from, amountTinybar: 2n * HBAR })
    stack.devnet.controls.holdConsensus(true)
    const runs = [1, 2].map(async () => await stack.run(['payments', 'refund', id], stack.deployed))
    await expect
      .poll(async () => await (await fetch(`${stack.facilitatorUrl}/metrics`)).text())
      .toMatch(/facilitator_settlements_in_flight [1-9]/)
    stack.devnet.controls.holdConsensus(false)
    for (const run of runs) expect(await run).toMatchObject({ code: 0 })
    expect(await stack.reader.getBalance({ address: from.evmAddress })).toBe(before)
  })

  test.runIf(process.env.TALLYSTICK_LONG === '1')(
    'a refund that the network lost is paid in a later slot (takes 40 s of waiting for an answer)',
    async () => {
      const from = stack.account('agent-6')
      const before = await stack.reader.getBalance({ address: from.evmAddress })
      const id = await stack.pay({ from, amountTinybar: 2n * HBAR })
      stack.devnet.controls.dropNextTransfers(1)
      const failed = await stack.run(['payments', 'refund', id], stack.deployed)
      expect(failed.code).toBe(1)
      expect(failed.err).toContain('Try again: it is never paid twice.')
      stack.nextSlot()
      expect(await stack.run(['payments', 'refund', id], stack.deployed)).toMatchObject({
        code: 0,
      })
      expect(await stack.reader.getBalance({ address: from.evmAddress })).toBe(before)
    },
  )

  test('earnings of an opened purchase are withdrawn by the owner', async () => {
    const { code, out } = await stack.run(['withdraw', 'earnings'], stack.deployed)
    expect(code).toBe(0)
    expect(out).toMatch(/^\d+ HBAR of the earnings went to 0x/)
  })

  test('an id that payTo was not credited by is refused', async () => {
    const missing = ['payments', 'refund', '0.0.1001@1700000000.000000001']
    expect((await stack.run(missing, stack.deployed)).err).toContain('was not credited by')
    expect((await stack.run(['payments', 'open', 'x'], stack.deployed)).err).toContain('Say which')
  })

  test('A24: a memo that names the contract opens nothing: it is listed as refused, and refunded', async () => {
    const from = stack.account('agent-7')
    const memo = `x402:${stack.contract}`
    const id = await stack.pay({ from, amountTinybar: PURCHASE_TINYBAR, memo })
    const why = 'refused: nobody acts under the address that its memo names'
    const listed = await stack.run(['payments'], stack.deployed)
    expect(listed.out).toContain(`${id}  12 HBAR from ${from.accountId}\n    ${why}`)
    const opened = await stack.run(['payments', 'open', id], stack.deployed)
    expect(opened).toMatchObject({ code: 1, err: expect.stringContaining('Refund it instead') })
    stack.nextSlot()
    const { out } = await stack.run(['payments', 'refund', id], stack.deployed)
    expect(out).toContain(`12 HBAR went back to ${from.accountId}`)
  })

  test('what the contract paid out to payTo, beside the gas that the owner paid, buys nothing', async () => {
    const to = stack.account('pay-to').evmAddress
    const line = ['withdraw', 'reserve', '--hbar', '12', '--to', to]
    expect(await stack.run(line, stack.deployed)).toMatchObject({ code: 0 })
    const { out } = await stack.run(['payments'], stack.deployed)
    expect(out).toContain('  12 HBAR from several\n    refused: several accounts paid it')
  })
})

describe('A23: a new contract for the same PAY_TO', () => {
  test('a redeployment does not make old sales refundable a second time', async () => {
    const agent = stack.account('agent-8')
    const id = await stack.pay({ from: agent, amountTinybar: PURCHASE_TINYBAR })
    expect(await stack.run(['payments', 'open', id], stack.deployed)).toMatchObject({ code: 0 })
    const before = await stack.reader.getBalance({ address: agent.evmAddress })
    const { out } = await stack.run(['deploy'])
    const ACCESS_CONTRACT = /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec(out)?.[1] ?? ''
    const environment = { ACCESS_CONTRACT, PREVIOUS_CONTRACTS: stack.contract }

    const refund = await stack.run(['payments', 'refund', id, '--although-pending'], environment)
    expect(refund).toMatchObject({
      code: 1,
      err: `It was opened for ${agent.evmAddress}, who can cancel for a refund.`,
    })
    expect(await stack.reader.getBalance({ address: agent.evmAddress })).toBe(before)
    expect((await stack.run(['payments', 'open', id], environment)).err).toContain(
      'It was opened before',
    )
  })
})
