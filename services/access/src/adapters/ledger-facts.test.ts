/** What is asked of the relay once for all who ask within a block or a second. */
import { accessWindowAbi } from '@tallystick/contracts'
import { manualClock } from '@tallystick/service-kit'
import { decodeFunctionData, encodeFunctionResult, toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Hex } from '../domain/access-window.ts'
import { createAccessContractReader } from './access-contract-reader.ts'
import { createLedgerFacts, EXCHANGE_RATE_ADDRESS } from './ledger-facts.ts'
import { RelayUnavailable } from './relay.ts'

const ACCOUNTS: readonly [Hex, Hex] = [`0x${'a1'.repeat(20)}`, `0x${'a2'.repeat(20)}`]

function countedRelay(answerTo: (method: string, params: readonly unknown[]) => unknown) {
  const requests: string[] = []
  const read = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    requests.push(method)
    return answerTo(method, params)
  }
  return { requests, relay: { read } }
}

describe('A12: read once for all who ask', () => {
  const { requests, relay } = countedRelay((method) =>
    method === 'eth_getBlockByNumber'
      ? { number: '0x1', hash: `0x${'b'.repeat(64)}`, timestamp: '0x1' }
      : toHex(10_000_000_000n),
  )
  const clock = manualClock(0)
  const facts = createLedgerFacts({ relay, clock })

  const { gasPriceWeibar, latestBlock, tinycentsPerHbar } = facts
  test.each([
    { what: 'the gas price', fact: gasPriceWeibar, method: 'eth_gasPrice', keptMs: 2_000 },
    { what: 'the latest block', fact: latestBlock, method: 'eth_getBlockByNumber', keptMs: 2_000 },
    {
      what: 'a balance',
      fact: facts.balanceTinybar(ACCOUNTS[0]),
      method: 'eth_getBalance',
      keptMs: 2_000,
    },
    { what: 'the rate of HBAR', fact: tinycentsPerHbar, method: 'eth_call', keptMs: 60_000 },
  ])('$what, for as long as it holds', async ({ fact, method, keptMs }) => {
    requests.length = 0
    await Promise.all(Array.from({ length: 20 }, () => fact()))
    clock.advanceMs(keptMs - 1)
    await fact()
    expect(requests).toEqual([method])
    clock.advanceMs(1)
    await fact()
    expect(requests).toEqual([method, method])
  })

  test('balances of two accounts are two reads, and the exchange rate is asked of its contract', async () => {
    clock.advanceMs(60_000)
    requests.length = 0
    await Promise.all(ACCOUNTS.map((account) => facts.balanceTinybar(account)()))
    expect(requests).toEqual(['eth_getBalance', 'eth_getBalance'])
    const to: unknown[] = []
    const rate = countedRelay((__, [call]) => {
      to.push((call as { readonly to: string }).to)
      return '0x1'
    })
    await createLedgerFacts({ relay: rate.relay, clock }).tinycentsPerHbar()
    expect(to).toEqual([EXCHANGE_RATE_ADDRESS])
  })
})

test('A12: challenges of one second share a read of the offers, each offer is read once ever, and a retirement is seen (A26)', async () => {
  const abi = accessWindowAbi
  const offer = {
    priceTinybar: 1n,
    periodSeconds: 60,
    callsAllowed: 10,
    startsAt: 1,
    slotSeconds: 15,
    retiredAt: 0,
  }
  const called: string[] = []
  const { relay } = countedRelay((_, [call]) => {
    const { functionName } = decodeFunctionData({
      abi,
      data: (call as { readonly data: Hex }).data,
    })
    called.push(functionName)
    return functionName === 'offerAt'
      ? encodeFunctionResult({ abi, functionName, result: offer })
      : encodeFunctionResult({ abi, functionName: 'currentOffer', result: [1, offer] })
  })
  const clock = manualClock(0)
  const address: Hex = `0x${'c1'.repeat(20)}`
  const contract = createAccessContractReader({ relay, clock, chainId: 296, address })
  await Promise.all(Array.from({ length: 20 }, () => contract.offers()))
  clock.advanceMs(999)
  await contract.offers()
  expect(called).toEqual(['currentOffer', 'offerAt'])
  clock.advanceMs(1)
  offer.retiredAt = 7
  const seen = await contract.offers()
  expect(called).toEqual(['currentOffer', 'offerAt', 'currentOffer'])
  expect(seen.map(({ retiredAtSeconds }) => retiredAtSeconds)).toEqual([0, 7])
})

describe('A25: while the budget of the relay is short', () => {
  const address: Hex = `0x${'c1'.repeat(20)}`
  const short = { isShort: () => true, keptMs: (usualMs: number) => Math.max(usualMs, 30_000) }

  test('a pause is read once in 30 s', async () => {
    const { requests, relay } = countedRelay(() => `0x${'0'.repeat(64)}`)
    const clock = manualClock(0)
    const contract = createAccessContractReader({
      relay,
      clock,
      budget: short,
      chainId: 296,
      address,
    })
    await contract.areSalesPaused()
    clock.advanceMs(29_999)
    await contract.areSalesPaused()
    expect(requests).toEqual(['eth_call'])
    clock.advanceMs(1)
    await contract.areSalesPaused()
    expect(requests).toEqual(['eth_call', 'eth_call'])
  })

  const startRefused = (error: Error, budget?: typeof short) => {
    const clock = manualClock(0)
    const { requests, relay } = countedRelay((method) => {
      if (method === 'eth_call') throw error
      return method === 'eth_chainId' ? '0x128' : '0x60'
    })
    const contract = createAccessContractReader({ relay, clock, budget, chainId: 296, address })
    const checks = () => requests.filter((method) => method === 'eth_getCode').length
    return { checks, clock, contract }
  }

  test('chain and contract are checked again after a failure, once in 30 s', async () => {
    const { checks, clock, contract } = startRefused(new RelayUnavailable('down'), short)
    for (let seconds = 0; seconds <= 30; seconds += 1) {
      await contract.ensureDeployed()
      await expect(contract.areSalesPaused()).rejects.toThrow('could not be read')
      clock.advanceMs(1_000)
    }
    expect(checks()).toBe(2)
  })

  test('a relay that had too many requests says nothing about chain and contract', async () => {
    const busy = new RelayUnavailable('busy', { isRateLimit: true })
    const { checks, contract } = startRefused(busy)
    for (let read = 0; read < 3; read += 1) {
      await contract.ensureDeployed()
      await expect(contract.areSalesPaused()).rejects.toThrow('could not be read')
    }
    expect(checks()).toBe(1)
  })
})
