import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { type Hex, keccak256, parseTransaction } from 'viem'
import { beforeEach, describe, expect, test } from 'vitest'
import { createOrderedSender } from './ordered-sender.ts'
import { type Relay, RelayRefusal, RelayUnavailable } from './relay.ts'

const CALL = { to: `0x${'22'.repeat(20)}`, data: '0x', valueTinybar: 0n, gas: 21_000n } as const

const RECEIPT = {
  status: '0x1',
  logs: [],
  gasUsed: '0x5208',
  effectiveGasPrice: '0x64',
  blockNumber: '0x1',
}

/** A relay whose nonce shows only what the test lets it show, and that does with each send what it is told. */
class ScriptedRelay {
  readonly clock: ManualClock = manualClock(0)
  /** What `eth_getTransactionCount` says, which lags. */
  shownNonce = 5
  /** What becomes of the next sends; undefined is taken. */
  readonly failures: (Error | undefined)[] = []
  readonly sentNonces: number[] = []
  readonly receipts = new Set<number>()
  readonly #nonces = new Map<string, number>()
  readonly #sender

  constructor() {
    const relay: Relay = {
      read: async (method, [subject]) => {
        if (method === 'eth_getTransactionCount') return `0x${this.shownNonce.toString(16)}`
        const nonce = this.#nonces.get(String(subject)) ?? -1
        return this.receipts.has(nonce) ? RECEIPT : null
      },
      send: async (rawTransaction) => {
        const { nonce = 0 } = parseTransaction(rawTransaction as Hex)
        this.sentNonces.push(nonce)
        this.#nonces.set(keccak256(rawTransaction as Hex), nonce)
        const failure = this.failures.shift()
        if (failure !== undefined) throw failure
      },
    }
    const price = Object.assign(async () => 100n, { forget: () => {} })
    this.#sender = createOrderedSender({
      relay,
      facts: { gasPriceWeibar: price },
      chainId: 296,
      privateKey: `0x${'11'.repeat(32)}`,
      clock: this.clock,
    })
  }

  /** Sends a transaction; its fate is noted, not awaited. */
  send(): { fate: string } {
    const noted = { fate: 'under way' }
    const note = async (): Promise<void> => {
      const receipt = await this.#sender.send(CALL)
      noted.fate = receipt === undefined ? 'unknown' : 'receipted'
    }
    void note()
    return noted
  }
}

describe('payTo’s transactions: a nonce that may be used is not used again', () => {
  let relay: ScriptedRelay
  beforeEach(() => {
    relay = new ScriptedRelay()
  })

  test('A10: while a send without an answer may be under way, no other transaction takes its nonce', async () => {
    relay.failures.push(new RelayUnavailable('no answer'))
    const first = relay.send()
    const second = relay.send()
    await relay.clock.advanceMsSettled(8_000)
    expect(relay.sentNonces).toEqual([5])
    relay.receipts.add(5)
    relay.shownNonce = 6
    await relay.clock.advanceMsSettled(3_000)
    expect(first.fate).toBe('receipted')
    expect(relay.sentNonces).toEqual([5, 6])
    relay.receipts.add(6)
    await relay.clock.advanceMsSettled(3_000)
    expect(second.fate).toBe('receipted')
  })

  test('A10: a nonce whose send got no answer is free again once no receipt came in 25 s', async () => {
    relay.failures.push(new RelayUnavailable('no answer'))
    const first = relay.send()
    relay.send()
    await relay.clock.advanceMsSettled(24_000)
    expect(relay.sentNonces).toEqual([5])
    await relay.clock.advanceMsSettled(4_000)
    expect(first.fate).toBe('unknown')
    expect(relay.sentNonces).toEqual([5, 5])
  })

  test('A10: where one transaction got no receipt, the next waits for those after it, whose nonces do not show yet', async () => {
    const first = relay.send()
    await relay.clock.advanceMsSettled(20_000)
    relay.send()
    await relay.clock.advanceMsSettled(7_000)
    expect(first.fate).toBe('unknown')
    relay.send()
    await relay.clock.advanceMsSettled(2_000)
    // The ledger still shows 5, though 6 is on its way.
    expect(relay.sentNonces).toEqual([5, 6])
  })

  test('A10: what the relay never looked at goes again soon, with the same nonce', async () => {
    const taken = relay.send()
    await relay.clock.advanceMsSettled(0)
    relay.failures.push(
      new RelayUnavailable('refused', { nothingSent: true }),
      new RelayRefusal('IP Rate limit exceeded on eth_sendRawTransaction', undefined),
    )
    relay.send()
    await relay.clock.advanceMsSettled(2_000)
    expect(taken.fate).toBe('under way')
    expect(relay.sentNonces).toEqual([5, 6, 6, 6])
  })

  test('A10: a nonce that was refused is not offered again while the ledger still shows it as the next', async () => {
    relay.failures.push(new RelayRefusal('WRONG_NONCE', undefined))
    relay.send()
    await relay.clock.advanceMsSettled(7_000)
    expect(relay.sentNonces).toEqual([5])
    relay.shownNonce = 6
    await relay.clock.advanceMsSettled(4_000)
    expect(relay.sentNonces).toEqual([5, 6])
  })
})
