import { accessWindowAbi } from '@tallystick/contracts'
import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type DeployedStack,
  PURCHASE_TINYBAR,
  startDeployedStack,
} from './operator-stack.fixture.ts'

let world: DeployedStack

beforeAll(async () => {
  world = await startDeployedStack()
}, 60_000)

afterAll(() => world.stack.stop())

describe('A15: deploy', () => {
  test('prints the variables to set, the float that payTo needs and the costs in HBAR', async () => {
    const { code, out, err } = await world.stack.run(['deploy', '--reserve-hbar', '7.5'])
    expect(err).toBe('')
    expect(code).toBe(0)
    const address = /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec(out)?.[1] as Address
    expect(out).toContain('Offer:     3 HBAR for 20 s and 20 calls')
    expect(out).toContain('Reserve:   7.5 HBAR')
    expect(out).toMatch(/Cost: +\d+(\.\d+)? HBAR \(\d+ gas\)/)
    expect(out).toContain(`PAY_TO=${world.stack.account('pay-to').accountId}`)
    // one purchase, and one forward's 2 M gas at a tenth above the quote of 109 tinybar
    expect(out).toContain('keep at least 14.398 HBAR')
    const books = await world.reader.readContract({
      abi: accessWindowAbi,
      address,
      functionName: 'books',
    })
    expect(books.reserveTinybar).toBe(750_000_000n)
    const args = [world.stack.account('pay-to').evmAddress] as const
    const isForwarder = {
      abi: accessWindowAbi,
      address,
      functionName: 'isForwarder',
      args,
    } as const
    expect(await world.reader.readContract(isForwarder)).toBe(true)
  })

  test('a price, period and quota of the caller are the offer', async () => {
    const line = ['deploy', '--price-hbar', '1.25', '--period-seconds', '60', '--calls', '5']
    const { out } = await world.stack.run([...line, '--reserve-hbar', '0'])
    expect(out).toContain('1.25 HBAR for 60 s and 5 calls')
  })

  test('a PAY_TO_KEY that is not the key of PAY_TO is refused before anything is deployed', async () => {
    const PAY_TO_KEY = world.stack.account('agent-1').privateKey
    const { code, err } = await world.stack.run(['deploy'], { PAY_TO_KEY })
    expect(code).toBe(1)
    expect(err).toContain('is not the key of')
  })

  test('a forward’s float is reckoned with the gas that the service offers', async () => {
    const { createSendingClient } = await import('../adapters/ledger-client.ts')
    const { createViemContractSender } = await import('../adapters/viem-contract-sender.ts')
    const { createViemAccessContract } = await import('../adapters/viem-access-contract.ts')
    const client = createSendingClient(world.stack.devnet.rpcUrl)
    const chainId = world.stack.devnet.chainId
    const sender = createViemContractSender({
      client,
      chainId,
      contract: createViemAccessContract({ client, chainId, address: world.contract }),
      privateKey: world.stack.account('pay-to').privateKey,
      clock: world.stack.clock,
    })
    expect(await sender.forwardGasTinybar()).toBe(239_800_000n)
    await sender.close()
  })
})

describe('A15: the seller’s books', () => {
  test('fund adds to the reserve and status shows it', async () => {
    const funded = await world.stack.run(['fund', '--hbar', '4.5'], world.deployed)
    expect(funded).toMatchObject({ code: 0, err: '' })
    expect(funded.out).toContain('The reserve has 4.5 HBAR more.')
    const { out } = await world.stack.run(['status'], world.deployed)
    expect(out).toMatch(/Reserve +54\.5 HBAR free, arms \d+ more renewals/)
    expect(out).toMatch(/Offer 0 +3 HBAR for 20 s and 20 calls/)
  })

  test('withdraw takes what is asked of the reserve, and all of it unless --hbar says less', async () => {
    const to = world.stack.account('agent-9').evmAddress
    const before = await world.reader.getBalance({ address: to })
    const line = ['withdraw', 'reserve', '--hbar', '4.5', '--to', to]
    expect(await world.stack.run(line, world.deployed)).toMatchObject({ code: 0 })
    expect(await world.reader.getBalance({ address: to })).toBe(
      before + 450_000_000n * 10_000_000_000n,
    )
    const nothing = await world.stack.run(['withdraw', 'earnings'], world.deployed)
    expect(nothing).toMatchObject({
      code: 1,
      err: 'There is nothing to withdraw: earnings 0 HBAR.',
    })
    const tooMuch = await world.stack.run(['withdraw', 'reserve', '--hbar', '5000'], world.deployed)
    expect(tooMuch.err).toBe('The contract refuses: the contract does not hold that much.')
  })

  test('set-offer changes the terms of purchases from now on', async () => {
    const line = ['set-offer', '--price-hbar', '3', '--period-seconds', '20', '--calls', '25']
    expect(await world.stack.run(line, world.deployed)).toMatchObject({ code: 0 })
    const { out } = await world.stack.run(['status'], world.deployed)
    expect(out).toMatch(/Offer 1 +3 HBAR for 20 s and 25 calls/)
  })

  test('pause and resume stop and start new sales', async () => {
    expect((await world.stack.run(['pause'], world.deployed)).code).toBe(0)
    expect((await world.stack.run(['status'], world.deployed)).out).toContain('sales PAUSED')
    expect((await world.stack.run(['resume'], world.deployed)).code).toBe(0)
    expect((await world.stack.run(['status'], world.deployed)).out).not.toContain('PAUSED')
  })

  test('recorders adds, removes and lists who may count calls', async () => {
    const first = world.stack.account('recorder').evmAddress
    const second = world.stack.account('agent-8').evmAddress
    const list = async () =>
      (await world.stack.run(['recorders', 'list'], world.deployed)).out.toLowerCase()
    expect((await world.stack.run(['recorders', 'add', second], world.deployed)).code).toBe(0)
    expect(await list()).toBe(`${first}\n${second}\n2 recorders.`)
    expect((await world.stack.run(['recorders', 'remove', second], world.deployed)).code).toBe(0)
    expect(await list()).toBe(`${first}\n1 recorder.`)
  })

  test('an address without a contract is told so', async () => {
    const ACCESS_CONTRACT = `0x${'c0de'.repeat(10)}`
    for (const line of [['recorders', 'list'], ['status'], ['pause']]) {
      expect(await world.stack.run(line, { ACCESS_CONTRACT })).toEqual({
        code: 1,
        out: '',
        err: `There is no contract at ${ACCESS_CONTRACT}.`,
      })
    }
  })

  test('reap refuses an agent whose schedule is not overdue', async () => {
    const { code, err } = await world.stack.run(
      ['reap', world.stack.account('agent-7').evmAddress],
      world.deployed,
    )
    expect(code).toBe(1)
    expect(err).toContain('no schedule of that agent is more than 30 s overdue')
  })

  test('a key that does not own the contract is told so, and nothing is sent', async () => {
    const OWNER_KEY = world.stack.account('agent-6').privateKey
    const { code, err } = await world.stack.run(['pause'], { ...world.deployed, OWNER_KEY })
    expect({ code, err }).toEqual({
      code: 1,
      err: 'The contract refuses: this key does not own the contract.',
    })
  })
})

test('A1: a sale of four periods: one is earned at once, three are the agent’s deposit, one renewal is locked', async () => {
  const line = ['deploy', '--price-hbar', '3', '--period-seconds', '3600', '--reserve-hbar', '40']
  const address =
    /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec((await world.stack.run(line)).out)?.[1] ?? ''
  const environment = { ACCESS_CONTRACT: address as Address }
  const from = world.stack.account('agent-7')
  const memo = `x402:${from.evmAddress}`
  const id = await world.stack.pay({ from, amountTinybar: PURCHASE_TINYBAR, memo })
  expect(await world.stack.run(['payments', 'open', id], environment)).toMatchObject({ code: 0 })
  const { out } = await world.stack.run(['status'], environment)
  expect(out).toMatch(/Earned +3 HBAR/)
  expect(out).toMatch(/Deposits +9 HBAR/)
  expect(out).toMatch(/Reserve +36\.076 HBAR free/)
  expect(out).toMatch(/Locked +3\.924 HBAR/)
}, 60_000)

describe('A7: reap', () => {
  test('gives up a schedule that the network never made, and arms the renewal anew', async () => {
    const agent = world.stack.account('agent-10')
    const { controls } = world.stack.devnet
    const id = await world.stack.pay({ from: agent, amountTinybar: PURCHASE_TINYBAR })
    expect((await world.stack.run(['payments', 'open', id], world.deployed)).code).toBe(0)
    // the network finds the contract unable to hold the gas of the call: it is over, and nothing tells the contract
    const held = await world.reader.getBalance({ address: world.contract })
    await controls.setBalanceTinybar(world.contract, 1n)
    await controls.advanceSeconds(21)
    await controls.setBalanceTinybar(world.contract, held / 10_000_000_000n)
    await controls.advanceSeconds(31)
    const { code, out, err } = await world.stack.run(['reap', agent.evmAddress], world.deployed)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain(`The overdue schedule of ${agent.evmAddress} is given up`)
    const again = await world.stack.run(['reap', agent.evmAddress], world.deployed)
    expect(again.err).toContain('no schedule of that agent is more than 30 s overdue')
  }, 60_000)
})
