import { accessWindowAbi } from '@tallystick/contracts'
import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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

const setArming = (cents: string, floor: string) => {
  const line = ['set-arming', '--schedule-cents', cents, '--floor-percent', floor]
  return stack.run(line, stack.deployed)
}

describe('A15: deploy', () => {
  test('prints the variables to set, the float that payTo needs and the costs in HBAR', async () => {
    const { code, out, err } = await stack.run(['deploy', '--reserve-hbar', '7.5'])
    expect(err).toBe('')
    expect(code).toBe(0)
    const address = /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec(out)?.[1] as Address
    expect(out).toContain('Offer:     3 HBAR for 20 s and 200 calls')
    expect(out).toContain('Slots:     windows end every 1 s')
    expect(out).toContain('Reserve:   7.5 HBAR')
    expect(out).toMatch(/Cost: +\d+(\.\d+)? HBAR \(\d+ gas\)/)
    expect(out).toContain(`PAY_TO=${stack.account('pay-to').accountId}`)
    // one purchase, and one forward's 2.07 M gas at a tenth above the quote of 109 tinybar
    expect(out).toMatch(/keep at least 14\.[45]\d* HBAR/)
    const books = await stack.reader.readContract({
      abi: accessWindowAbi,
      address,
      functionName: 'books',
    })
    expect(books.reserveTinybar).toBe(750_000_000n)
    const args = [stack.account('pay-to').evmAddress] as const
    const isForwarder = {
      abi: accessWindowAbi,
      address,
      functionName: 'isForwarder',
      args,
    } as const
    expect(await stack.reader.readContract(isForwarder)).toBe(true)
  })

  test('a price, period and quota of the caller are the offer', async () => {
    const line = ['deploy', '--price-hbar', '1.25', '--period-seconds', '60', '--calls', '5']
    const { out } = await stack.run([...line, '--reserve-hbar', '0'])
    expect(out).toContain('1.25 HBAR for 60 s and 5 calls')
  })

  test('a PAY_TO_KEY that is not the key of PAY_TO is refused before anything is deployed', async () => {
    const PAY_TO_KEY = stack.account('agent-1').privateKey
    const { code, err } = await stack.run(['deploy'], { PAY_TO_KEY })
    expect(code).toBe(1)
    expect(err).toContain('is not the key of')
  })

  test('a forward’s float is reckoned with the gas that the service offers', async () => {
    const { createLedgerFacts } = await import('../adapters/ledger-facts.ts')
    const { createRelay } = await import('../adapters/relay.ts')
    const { createAccessContractWriter } = await import('../adapters/access-contract-writer.ts')
    const { createAccessContractReader } = await import('../adapters/access-contract-reader.ts')
    const { chainId, rpcUrl: url } = stack.devnet
    const { clock, contract: address } = stack
    const relay = createRelay({ url, clock })
    const sender = createAccessContractWriter({
      relay,
      facts: createLedgerFacts({ relay, clock }),
      chainId,
      contract: createAccessContractReader({ relay, clock, chainId, address }),
      privateKey: stack.account('pay-to').privateKey,
      clock,
    })
    const armingGas = {
      abi: accessWindowAbi,
      address: stack.contract,
      functionName: 'armingGas',
    } as const
    const [transactionGas] = await stack.reader.readContract(armingGas)
    expect(await sender.forwardGasTinybar()).toBe((transactionGas * 109n * 11n) / 10n)
    await sender.close()
  })
})

describe('A15: the seller’s books', () => {
  test('fund adds to the reserve and status shows it', async () => {
    const funded = await stack.run(['fund', '--hbar', '4.5'], stack.deployed)
    expect(funded).toMatchObject({ code: 0, err: '' })
    expect(funded.out).toContain('The reserve has 4.5 HBAR more.')
    const { out } = await stack.run(['status'], stack.deployed)
    expect(out).toMatch(/Reserve +54\.5 HBAR free, arms \d+ more renewals/)
    expect(out).toMatch(/Offer 0 +3 HBAR for 20 s and 200 calls/)
  })

  test('withdraw takes what is asked of the reserve, and all of it unless --hbar says less', async () => {
    const to = stack.account('agent-9').evmAddress
    const before = await stack.reader.getBalance({ address: to })
    const line = ['withdraw', 'reserve', '--hbar', '4.5', '--to', to]
    expect(await stack.run(line, stack.deployed)).toMatchObject({ code: 0 })
    expect(await stack.reader.getBalance({ address: to })).toBe(
      before + 450_000_000n * 10_000_000_000n,
    )
    const nothing = await stack.run(['withdraw', 'earnings'], stack.deployed)
    expect(nothing).toMatchObject({
      code: 1,
      err: 'There is nothing to withdraw: earnings 0 HBAR.',
    })
    const tooMuch = await stack.run(['withdraw', 'reserve', '--hbar', '5000'], stack.deployed)
    expect(tooMuch.err).toBe('The contract refuses: the contract does not hold that much.')
  })

  test('set-offer changes the terms of purchases from now on', async () => {
    const line = ['set-offer', '--price-hbar', '3', '--period-seconds', '20', '--calls', '25']
    expect(await stack.run(line, stack.deployed)).toMatchObject({ code: 0 })
    const { out } = await stack.run(['status'], stack.deployed)
    expect(out).toMatch(/Offer 1 +3 HBAR for 20 s and 25 calls/)
  })

  test('A26: retire-offer takes no new money at its terms until another offer is set', async () => {
    const { offers, current } = { offers: /Offer (\d+) /, current: ['status'] }
    const [, number = ''] = offers.exec((await stack.run(current, stack.deployed)).out) ?? []
    const { out } = await stack.run(['retire-offer', number], stack.deployed)
    expect(out).toContain(`Offer ${number} takes no new money; windows that are paid for go on.`)
    expect(out).toContain('nothing is sold until access-operator set-offer')
    expect((await stack.run(current, stack.deployed)).out).toContain('RETIRED')
    const unknown = await stack.run(['retire-offer', '99'], stack.deployed)
    expect(unknown.err).toBe('The contract refuses: there is no offer of that number.')
    expect((await stack.run(['retire-offer'], stack.deployed)).code).toBe(2)
    const line = ['set-offer', '--price-hbar', '3', '--period-seconds', '20', '--calls', '25']
    expect((await stack.run(line, stack.deployed)).code).toBe(0)
    expect((await stack.run(current, stack.deployed)).out).not.toContain('RETIRED')
    const earlier = await stack.run(['retire-offer', '0'], stack.deployed)
    expect(earlier.out).not.toContain('nothing is sold')
  })

  test('A19: windows of a new offer end in slots that divide its period, of a second by default on a local ledger', async () => {
    const line = ['set-offer', '--price-hbar', '3', '--period-seconds', '60', '--calls', '25']
    const { out } = await stack.run(line, stack.deployed)
    expect(out).toContain('windows end every 1 s')
    const wide = await stack.run([...line, '--slot-seconds', '15'], stack.deployed)
    expect(wide.out).toContain('windows end every 15 s')
    const uneven = await stack.run([...line, '--slot-seconds', '7'], stack.deployed)
    expect(uneven.err).toContain('a multiple of the slots')
  })

  test('A20: set-arming sets what a scheduled call costs in cents and the floor of what a renewal earns', async () => {
    const { out } = await setArming('24.5', '150')
    expect(out).toContain('reckoned at 24.5 US cents')
    expect(out).toContain('at least 150 %')
    for (const bad of ['', '1e3', '12.345', '-1'])
      expect((await setArming(bad, '100')).code).toBe(2)
    const beyond = await setArming('0.5', '100')
    expect(beyond.err).toContain('1 to 100 US cents')
    expect((await setArming('12', '100')).code).toBe(0)
  })

  test('pause and resume stop and start new sales', async () => {
    expect((await stack.run(['pause'], stack.deployed)).code).toBe(0)
    expect((await stack.run(['status'], stack.deployed)).out).toContain('sales PAUSED')
    expect((await stack.run(['resume'], stack.deployed)).code).toBe(0)
    expect((await stack.run(['status'], stack.deployed)).out).not.toContain('PAUSED')
  })

  test('recorders adds, removes and lists who may count calls', async () => {
    const first = stack.account('recorder').evmAddress
    const second = stack.account('agent-8').evmAddress
    const list = async () =>
      (await stack.run(['recorders', 'list'], stack.deployed)).out.toLowerCase()
    expect((await stack.run(['recorders', 'add', second], stack.deployed)).code).toBe(0)
    expect(await list()).toBe(`${first}\n${second}\n2 recorders.`)
    expect((await stack.run(['recorders', 'remove', second], stack.deployed)).code).toBe(0)
    expect(await list()).toBe(`${first}\n1 recorder.`)
  })

  test('an address without a contract is told so', async () => {
    const ACCESS_CONTRACT = `0x${'c0de'.repeat(10)}`
    for (const line of [['recorders', 'list'], ['status'], ['pause']]) {
      expect(await stack.run(line, { ACCESS_CONTRACT })).toEqual({
        code: 1,
        out: '',
        err: `There is no contract at ${ACCESS_CONTRACT}.`,
      })
    }
  })

  test('reap refuses an agent whose schedule is not overdue', async () => {
    const { code, err } = await stack.run(
      ['reap', stack.account('agent-7').evmAddress],
      stack.deployed,
    )
    expect(code).toBe(1)
    expect(err).toContain('no schedule of that agent is more than 30 s overdue')
  })

  test('a key that does not own the contract is told so, and nothing is sent', async () => {
    const OWNER_KEY = stack.account('agent-6').privateKey
    const { code, err } = await stack.run(['pause'], { ...stack.deployed, OWNER_KEY })
    expect({ code, err }).toEqual({
      code: 1,
      err: 'The contract refuses: this key does not own the contract.',
    })
  })
})

test('A1: a sale of four periods: one is earned at once, three are the agent’s deposit, one renewal is locked', async () => {
  const line = ['deploy', '--price-hbar', '3', '--period-seconds', '3600', '--reserve-hbar', '40']
  const address = /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec((await stack.run(line)).out)?.[1] ?? ''
  const environment = { ACCESS_CONTRACT: address as Address }
  const from = stack.account('agent-7')
  const memo = `x402:${from.evmAddress}`
  const id = await stack.pay({ from, amountTinybar: PURCHASE_TINYBAR, memo })
  expect(await stack.run(['payments', 'open', id], environment)).toMatchObject({ code: 0 })
  const { out } = await stack.run(['status'], environment)
  expect(out).toMatch(/Earned +3 HBAR/)
  expect(out).toMatch(/Deposits +9 HBAR/)
  const [, free] = /Reserve +([\d.]+) HBAR free/.exec(out) ?? []
  const [, locked] = /Locked +([\d.]+) HBAR/.exec(out) ?? []
  expect(Number(locked)).toBeCloseTo(3.98, 1)
  expect(Number(free) + Number(locked)).toBeCloseTo(40, 8)
})

describe('A7: reap and poke', () => {
  test('gives up a schedule that the network never made, and arms the renewal anew', async () => {
    const agent = stack.account('agent-10')
    const { controls } = stack.devnet
    const id = await stack.pay({ from: agent, amountTinybar: PURCHASE_TINYBAR })
    expect((await stack.run(['payments', 'open', id], stack.deployed)).code).toBe(0)
    // the network finds the contract unable to hold the gas of the call: it is over, and nothing tells the contract
    const balanceWeibar = await stack.reader.getBalance({ address: stack.contract })
    await controls.setBalanceTinybar(stack.contract, 1n)
    // Beyond the first end under either offer of this file.
    await controls.advanceSeconds(81)
    await controls.setBalanceTinybar(stack.contract, balanceWeibar / 10_000_000_000n)
    await controls.advanceSeconds(41)
    const { code, out, err } = await stack.run(['reap', agent.evmAddress], stack.deployed)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain(`The overdue schedule of ${agent.evmAddress} is given up`)
    const again = await stack.run(['reap', agent.evmAddress], stack.deployed)
    expect(again.err).toContain('no schedule of that agent is more than 30 s overdue')
    const poked = await stack.run(['poke', agent.evmAddress], stack.deployed)
    expect(poked).toMatchObject({ code: 0, err: '' })
    expect(poked.out).toContain(`The slot of ${agent.evmAddress} is brought up to date`)
  })
})
