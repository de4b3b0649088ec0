import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { type Hex, keccak256, parseTransaction } from 'viem'
import { beforeEach, describe, expect, test } from 'vitest'
import { createCallSender } from './call-sender.ts'
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
  readonly clock: ManualClock = manualClock(1_700_000_000_000)
  /** What `eth_getTransactionCount` says, which lags. */
  shownNonce = 5
  /** What becomes of the next sends; undefined is taken. */
  readonly failures: (Error | undefined)[] = []
  readonly sentNonces: number[] = []
  readonly sentBytes = new Set<string>()
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
        this.sentBytes.add(rawTransaction)
        this.#nonces.set(keccak256(rawTransaction as Hex), nonce)
        const failure = this.failures.shift()
        if (failure !== undefined) throw failure
      },
    }
    const price = Object.assign(async () => 100n, { forget: () => {} })
    this.#sender = createCallSender({
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
      const { receipt } = await this.#sender.send(CALL)
      noted.fate = receipt === undefined ? 'unknown' : 'receipted'
    }
    note().catch((error: Error) => {
      noted.fate = String(error.cause)
    })
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

  test('A10: what left without an answer goes again after 20 s, the same bytes, and then the next', async () => {
    relay.failures.push(new RelayUnavailable('no answer'))
    const first = relay.send()
    relay.send()
    await relay.clock.advanceMsSettled(19_000)
    expect(relay.sentNonces).toEqual([5])
    relay.receipts.add(5)
    await relay.clock.advanceMsSettled(4_000)
    expect(relay.sentNonces).toEqual([5, 5, 6])
    expect(relay.sentBytes.size).toBe(2)
    expect(first.fate).toBe('receipted')
  })

  test('A10: a nonce whose send got no answer is free again once no receipt came in 25 s', async () => {
    relay.failures.push(new RelayUnavailable('no answer'), new RelayUnavailable('none again'))
    const first = relay.send()
    await relay.clock.advanceMsSettled(24_000)
    expect(relay.sentNonces).toEqual([5, 5])
    await relay.clock.advanceMsSettled(4_000)
    expect(first.fate).toBe('unknown')
    relay.send()
    await relay.clock.advanceMsSettled(1_000)
    expect(relay.sentNonces).toEqual([5, 5, 5])
  })

  test('A10: where one transaction got no receipt, the next waits for those after it, whose nonces do not show yet', async () => {
    const first = relay.send()
    await relay.clock.advanceMsSettled(14_000)
    relay.send()
    await relay.clock.advanceMsSettled(12_000)
    expect(first.fate).toBe('unknown')
    relay.send()
    await relay.clock.advanceMsSettled(2_000)
    // 5 went again and is given up. The ledger still shows it as the next, though 6 is on its way.
    expect(relay.sentNonces).toEqual([5, 6, 5])
    expect(relay.sentBytes.size).toBe(2)
  })

  test.each([
    ['old', 'Nonce too low. Provided nonce: 5, current nonce: 8'],
    ['new', '[Request ID: 1] Nonce too low. Provided nonce: 5, current nonce: 8'],
  ])(
    'A14: a nonce that another replica took is replaced by the one that the %s relay names, at once',
    async (_, words) => {
      relay.failures.push(new RelayRefusal(words, undefined))
      const call = relay.send()
      await relay.clock.advanceMsSettled(0)
      expect(relay.sentNonces).toEqual([5, 8])
      relay.receipts.add(8)
      await relay.clock.advanceMsSettled(3_000)
      expect(call.fate).toBe('receipted')
    },
  )

  test('A15: a call that the ledger has no money for is refused at once, and its nonce serves the next', async () => {
    relay.failures.push(new RelayRefusal('Insufficient funds for transfer', undefined))
    const call = relay.send()
    await relay.clock.advanceMsSettled(0)
    expect(call.fate).toContain('Insufficient funds for transfer')
    relay.send()
    await relay.clock.advanceMsSettled(0)
    expect(relay.sentNonces).toEqual([5, 5])
  })

  test('A15: a call that no try brings to the relay is refused within 8 s', async () => {
    const unreached = new RelayUnavailable('refused', { nothingSent: true })
    relay.failures.push(...Array.from({ length: 6 }, () => unreached))
    const call = relay.send()
    await relay.clock.advanceMsSettled(8_000)
    expect(call.fate).toContain('RelayUnavailable')
    expect(relay.sentBytes.size).toBe(1)
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
