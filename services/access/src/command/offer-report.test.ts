import { accessWindowAbi } from '@tallystick/contracts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DeployedStack, startDeployedStack } from './operator-stack.fixture.ts'

let stack: DeployedStack

beforeAll(async () => {
  stack = await startDeployedStack()
})

afterAll(() => stack.stop())

describe('what an offer earns', () => {
  test('A1: says in 80 columns what the offer costs and earns, before the contract is made', async () => {
    const { out } = await stack.run(['deploy'])
    const lines = out.split('\n')
    const report = lines.slice(
      0,
      lines.findIndex((line) => line.startsWith('The access contract')),
    )
    expect(report.length).toBeGreaterThan(10)
    for (const line of report) expect(line.length).toBeLessThanOrEqual(80)
    expect(out).toContain('  agents         0 % used        50 % used       100 % used')
    expect(out).toContain('Break-even:  1 agent with the whole quota used')
    expect(out).toMatch(/Recorder: +at most 23 records a window, [\d.]+ HBAR, whatever is called/)
    expect(out).toContain('by the process that records')
    const { out: ofThree } = await stack.run(['deploy'], { RECORDER_COUNT: '3' })
    expect(ofThree).toMatch(
      /Recorder: +at most 69 records a window, [\d.]+ HBAR, whatever is called/,
    )
    expect(ofThree).toContain('by the 3 processes that record (RECORDER_COUNT)')
    expect(out).not.toContain('Dearest')
    expect(out).toMatch(/Reserve: +spends at most [\d.]+ HBAR an hour on 20 slots/)
  })

  test('A1: an offer that loses money at full use needs --at-a-loss, for deploy and set-offer', async () => {
    const offer = [
      '--price-hbar',
      '2',
      '--period-seconds',
      '3600',
      '--calls',
      '1000',
      '--slot-seconds',
      '900',
    ]
    const owner = stack.account('owner').evmAddress
    const before = await stack.reader.getTransactionCount({ address: owner })
    for (const verb of ['deploy', 'set-offer']) {
      const { code, out, err } = await stack.run([verb, ...offer], stack.deployed)
      expect(code).toBe(1)
      expect(out).toContain('Break-even:  5 agents')
      expect(err).toMatch(/costs 2\.\d+ HBAR a window and pays 2 HBAR.*--at-a-loss/)
    }
    expect(await stack.reader.getTransactionCount({ address: owner })).toBe(before)
    expect(await stack.run(['deploy', ...offer, '--at-a-loss'])).toMatchObject({ code: 0 })
  })

  test('A1: --json has the table for a program, amounts as text', async () => {
    const { out } = await stack.run(['deploy', '--json'])
    const [first = ''] = out.split('\n')
    expect(JSON.parse(first)).toMatchObject({
      priceTinybar: '300000000',
      isLossAtFullUse: false,
      breakEvenAgents: 1,
      table: [{ agents: 1 }, { agents: 20 }, { agents: 100 }],
    })
  })

  test('the lock is the one that the contract takes', async () => {
    const { out } = await stack.run(['deploy', '--json'])
    const figures = JSON.parse(out.split('\n')[0] ?? '') as Record<string, string>
    const [, scheduledGas] = await stack.reader.readContract({
      abi: accessWindowAbi,
      address: stack.contract,
      functionName: 'armingGas',
    })
    expect(figures.lockTinybar).toBe(String(scheduledGas * 109n * 2n))
  })

  test('A20: set-offer and status reckon with what the owner of this contract set, deploy with what a new one begins with', async () => {
    const arming = ['set-arming', '--schedule-cents', '24.5', '--floor-percent', '150']
    expect(await stack.run(arming, stack.deployed)).toMatchObject({ code: 0 })
    const offer = ['--price-hbar', '9', '--period-seconds', '20', '--calls', '200', '--json']
    const readMarket = async (verb: string) => {
      const { out } = await stack.run([verb, ...offer], stack.deployed)
      return (JSON.parse(out.split('\n')[0] ?? '') as { readonly market: object }).market
    }
    expect(await readMarket('set-offer')).toMatchObject({
      scheduleCost: 2_450,
      armingFloorPercent: 150,
    })
    expect(await readMarket('deploy')).toMatchObject({
      scheduleCost: 1_200,
      armingFloorPercent: 100,
    })
    const { out } = await stack.run(['status'], stack.deployed)
    expect(out).toContain('reckoned at 24.5 US cents and armed when it earns 150 %')
  })
})
