import { accessWindowAbi } from '@tallystick/contracts'
import { type Address, createPublicClient, http } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployAccessWindow } from './deploy-access-window.ts'
import { type OperatorStack, startOperatorStack } from './operator-stack.fixture.ts'

const HBAR = 100_000_000n
/** One purchase at the local default: 4 periods of 3 HBAR. */
const PURCHASE_TINYBAR = 12n * HBAR

let stack: OperatorStack
let contract: Address

/** The environment that `deploy` told to set. */
const deployed = () => ({ ACCESS_CONTRACT: contract })

const read = () => createPublicClient({ transport: http(stack.devnet.rpcUrl) })

beforeAll(async () => {
  stack = await startOperatorStack()
  const deployment = await deployAccessWindow({
    rpcUrl: stack.devnet.rpcUrl,
    chainId: stack.devnet.chainId,
    ownerKey: stack.account('owner').privateKey,
    forwarder: stack.account('pay-to').evmAddress,
    recorders: [stack.account('recorder').evmAddress],
    offer: { priceTinybar: 3n * HBAR, periodSeconds: 20, callsAllowed: 20 },
    reserveTinybar: 50n * HBAR,
  })
  contract = deployment.contract
}, 60_000)

afterAll(async () => {
  await stack.stop()
})

describe('A15: deploy', () => {
  test('prints the variables to set, the float that payTo needs and the costs in HBAR', async () => {
    const { code, out, err } = await stack.run(['deploy', '--reserve-hbar', '7.5'])
    expect(err).toBe('')
    expect(code).toBe(0)
    const address = /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec(out)?.[1] as Address
    expect(out).toContain('Offer:     3 HBAR for 20 s and 20 calls')
    expect(out).toContain('Reserve:   7.5 HBAR')
    expect(out).toMatch(/Cost: +\d+(\.\d+)? HBAR \(\d+ gas\)/)
    expect(out).toContain(`PAY_TO=${stack.account('pay-to').accountId}`)
    // one purchase, and one forward's 2 M gas at a tenth above the quote of 109 tinybar
    expect(out).toContain('keep at least 14.398 HBAR')
    const books = await read().readContract({
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
    expect(await read().readContract(isForwarder)).toBe(true)
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
    const { createSendingClient } = await import('../adapters/ledger-client.ts')
    const { createViemContractSender } = await import('../adapters/viem-contract-sender.ts')
    const { createViemAccessContract } = await import('../adapters/viem-access-contract.ts')
    const client = createSendingClient(stack.devnet.rpcUrl)
    const chainId = stack.devnet.chainId
    const sender = createViemContractSender({
      client,
      chainId,
      contract: createViemAccessContract({ client, chainId, address: contract }),
      privateKey: stack.account('pay-to').privateKey,
      clock: stack.clock,
    })
    expect(await sender.forwardGasTinybar()).toBe(239_800_000n)
    await sender.close()
  })
})

describe('A15: the seller’s books', () => {
  test('fund adds to the reserve and status shows it', async () => {
    const funded = await stack.run(['fund', '--hbar', '4.5'], deployed())
    expect(funded).toMatchObject({ code: 0, err: '' })
    expect(funded.out).toContain('The reserve has 4.5 HBAR more.')
    const { out } = await stack.run(['status'], deployed())
    expect(out).toMatch(/Reserve +54\.5 HBAR free, arms \d+ more renewals/)
    expect(out).toMatch(/Offer 0 +3 HBAR for 20 s and 20 calls/)
  })

  test('withdraw takes what is asked of the reserve, and all of it unless --hbar says less', async () => {
    const to = stack.account('agent-9').evmAddress
    const before = await read().getBalance({ address: to })
    const line = ['withdraw', 'reserve', '--hbar', '4.5', '--to', to]
    expect(await stack.run(line, deployed())).toMatchObject({ code: 0 })
    expect(await read().getBalance({ address: to })).toBe(before + 450_000_000n * 10_000_000_000n)
    const nothing = await stack.run(['withdraw', 'earnings'], deployed())
    expect(nothing).toMatchObject({
      code: 1,
      err: 'There is nothing to withdraw: earnings 0 HBAR.',
    })
    const tooMuch = await stack.run(['withdraw', 'reserve', '--hbar', '5000'], deployed())
    expect(tooMuch.err).toBe('The contract refuses: the contract does not hold that much.')
  })

  test('set-offer changes the terms of purchases from now on', async () => {
    const line = ['set-offer', '--price-hbar', '3', '--period-seconds', '20', '--calls', '25']
    expect(await stack.run(line, deployed())).toMatchObject({ code: 0 })
    const { out } = await stack.run(['status'], deployed())
    expect(out).toMatch(/Offer 1 +3 HBAR for 20 s and 25 calls/)
  })

  test('pause and resume stop and start new sales', async () => {
    expect((await stack.run(['pause'], deployed())).code).toBe(0)
    expect((await stack.run(['status'], deployed())).out).toContain('sales PAUSED')
    expect((await stack.run(['resume'], deployed())).code).toBe(0)
    expect((await stack.run(['status'], deployed())).out).not.toContain('PAUSED')
  })

  test('recorders adds, removes and lists who may count calls', async () => {
    const first = stack.account('recorder').evmAddress
    const second = stack.account('agent-8').evmAddress
    const list = async () => (await stack.run(['recorders', 'list'], deployed())).out.toLowerCase()
    expect((await stack.run(['recorders', 'add', second], deployed())).code).toBe(0)
    expect(await list()).toBe(`${first}\n${second}\n2 recorders.`)
    expect((await stack.run(['recorders', 'remove', second], deployed())).code).toBe(0)
    expect(await list()).toBe(`${first}\n1 recorder.`)
  })

  test('reap refuses an agent whose schedule is not overdue', async () => {
    const { code, err } = await stack.run(['reap', stack.account('agent-7').evmAddress], deployed())
    expect(code).toBe(1)
    expect(err).toContain('no schedule of that agent is more than 30 s overdue')
  })

  test('a key that does not own the contract is told so, and nothing is sent', async () => {
    const OWNER_KEY = stack.account('agent-6').privateKey
    const { code, err } = await stack.run(['pause'], { ...deployed(), OWNER_KEY })
    expect({ code, err }).toEqual({
      code: 1,
      err: 'The contract refuses: this key does not own the contract.',
    })
  })
})

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

    const first = await stack.run(['payments'], deployed())
    expect(first.err).toBe('')
    expect(first.out).toContain(`pending for ${agent.evmAddress}`)
    expect(first.out).toContain('refused: it is no whole purchase at a price of that time')
    expect(first.out).toContain('17 HBAR in 30 days: 0 opened, 1 pending, 1 refused, 0 refunded.')

    const opened = await stack.run(['payments', 'open', named], deployed())
    expect(opened).toMatchObject({ code: 0, err: '' })
    expect(opened.out).toContain(`The window of ${agent.evmAddress} is open.`)
    expect((await stack.run(['payments', 'open', named], deployed())).err).toContain(
      'It was opened before',
    )
    expect((await stack.run(['payments', 'refund', named], deployed())).err).toContain(
      'It was opened for',
    )
    expect((await stack.run(['payments', 'open', odd], deployed())).err).toContain(
      'It cannot be opened',
    )

    const before = await read().getBalance({ address: stranger.evmAddress })
    const refunded = await stack.run(['payments', 'refund', odd], deployed())
    expect(refunded).toMatchObject({ code: 0, err: '' })
    expect(refunded.out).toContain(`5 HBAR went back to ${stranger.accountId}`)
    const after = await read().getBalance({ address: stranger.evmAddress })
    expect(after - before).toBe(5n * HBAR * 10_000_000_000n)
    expect((await stack.run(['payments', 'refund', odd], deployed())).err).toBe(
      'It was refunded before.',
    )
    const last = await stack.run(['payments', 'list'], deployed())
    expect(last.out).toContain('1 opened, 0 pending, 0 refused, 1 refunded.')
  }, 60_000)

  test('a pending purchase is only refunded when the operator says that no service opens it', async () => {
    const from = stack.account('agent-3')
    const id = await stack.pay({ from, amountTinybar: PURCHASE_TINYBAR })
    const { code, err } = await stack.run(['payments', 'refund', id], deployed())
    expect(code).toBe(1)
    expect(err).toContain('--although-pending')
    const line = ['payments', 'refund', id, '--although-pending']
    expect(await stack.run(line, deployed())).toMatchObject({ code: 0, err: '' })
    expect((await stack.run(['payments', 'open', id], deployed())).err).toBe(
      'It was refunded and stays closed.',
    )
  }, 60_000)

  test('the same refund asked for by five operators at once is paid once', async () => {
    const from = stack.account('agent-4')
    const before = await read().getBalance({ address: from.evmAddress })
    const id = await stack.pay({ from, amountTinybar: 2n * HBAR })
    const line = ['payments', 'refund', id]
    const results = await Promise.all(
      Array.from({ length: 5 }, async () => await stack.run(line, deployed())),
    )
    expect(results.filter(({ code }) => code === 0).length).toBeGreaterThanOrEqual(1)
    expect(await read().getBalance({ address: from.evmAddress })).toBe(before)
    const { out } = await stack.run(['payments'], deployed())
    expect(out.split('\n').filter((line2) => line2.includes(id)).length).toBe(1)
  }, 60_000)

  test('a refund that is under way is not submitted again by a second operator', async () => {
    const from = stack.account('agent-5')
    const before = await read().getBalance({ address: from.evmAddress })
    const id = await stack.pay({ from, amountTinybar: 2n * HBAR })
    stack.devnet.controls.holdConsensus(true)
    const runs = [1, 2].map(async () => await stack.run(['payments', 'refund', id], deployed()))
    await expect
      .poll(async () => await (await fetch(`${stack.facilitatorUrl}/metrics`)).text())
      .toMatch(/facilitator_settlements_in_flight [1-9]/)
    stack.devnet.controls.holdConsensus(false)
    for (const run of runs) expect(await run).toMatchObject({ code: 0 })
    expect(await read().getBalance({ address: from.evmAddress })).toBe(before)
  }, 60_000)

  test.runIf(process.env.TALLYSTICK_LONG === '1')(
    'a refund that the network lost is paid in a later slot (takes 40 s of waiting for an answer)',
    async () => {
      const from = stack.account('agent-6')
      const before = await read().getBalance({ address: from.evmAddress })
      const id = await stack.pay({ from, amountTinybar: 2n * HBAR })
      stack.devnet.controls.dropNextTransfers(1)
      const failed = await stack.run(['payments', 'refund', id], deployed())
      expect(failed.code).toBe(1)
      expect(failed.err).toContain('Try again: it is never paid twice.')
      stack.nextSlot()
      expect(await stack.run(['payments', 'refund', id], deployed())).toMatchObject({ code: 0 })
      expect(await read().getBalance({ address: from.evmAddress })).toBe(before)
    },
    120_000,
  )

  test('earnings of an opened purchase are withdrawn by the owner', async () => {
    const { code, out } = await stack.run(['withdraw', 'earnings'], deployed())
    expect(code).toBe(0)
    expect(out).toMatch(/^\d+ HBAR of the earnings went to 0x/)
  })

  test('an id that payTo was not credited by is refused', async () => {
    const missing = ['payments', 'refund', '0.0.1001@1700000000.000000001']
    expect((await stack.run(missing, deployed())).err).toContain('was not credited by')
    expect((await stack.run(['payments', 'open', 'x'], deployed())).err).toContain('Say which')
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
  expect(out).toMatch(/Reserve +36\.076 HBAR free/)
  expect(out).toMatch(/Locked +3\.924 HBAR/)
}, 60_000)

describe('A7: reap', () => {
  test('gives up a schedule that the network never made, and arms the renewal anew', async () => {
    const agent = stack.account('agent-10')
    const { controls } = stack.devnet
    const id = await stack.pay({ from: agent, amountTinybar: PURCHASE_TINYBAR })
    expect((await stack.run(['payments', 'open', id], deployed())).code).toBe(0)
    // the network finds the contract unable to hold the gas of the call: it is over, and nothing tells the contract
    const held = await read().getBalance({ address: contract })
    await controls.setBalanceTinybar(contract, 1n)
    await controls.advanceSeconds(21)
    await controls.setBalanceTinybar(contract, held / 10_000_000_000n)
    await controls.advanceSeconds(31)
    const { code, out, err } = await stack.run(['reap', agent.evmAddress], deployed())
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain(`The overdue schedule of ${agent.evmAddress} is given up`)
    const again = await stack.run(['reap', agent.evmAddress], deployed())
    expect(again.err).toContain('no schedule of that agent is more than 30 s overdue')
  }, 60_000)
})
