// Whatever a relay does, a call is never done twice, and its caller learns the truth.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import * as fc from 'fast-check'
import { type Hex, keccak256, numberToHex, parseTransaction } from 'viem'
import { expect, test } from 'vitest'
import { createCallSender } from './call-sender.ts'
import { type Relay, RelayRefusal, RelayUnavailable } from './relay.ts'

const numRuns = process.env.TALLYSTICK_LONG === '1' ? 3_000 : 200

/** Bytes that leave without an answer arrive so much later, if they do. Milliseconds. */
const LATE_MS = 3_000

/** Longer than any caller waits, behind as many others as a history has. Milliseconds. */
const REST_MS = 600_000

type Step =
  | { readonly kind: 'call' | 'nonce-taken' }
  | {
      readonly kind: 'fault'
      readonly fault: 'lost' | 'late' | 'unanswered' | 'dropped' | 'not-taken'
    }
  | { readonly kind: 'reads-lag'; readonly ms: number }
  | { readonly kind: 'names-nonce'; readonly is: boolean }
  | { readonly kind: 'time'; readonly ms: number }

const lagMs = fc.constantFrom(0, 2_000, 9_000)

const sendFault = fc.record({
  kind: fc.constant('fault' as const),
  fault: fc.constantFrom(
    'lost' as const,
    'late' as const,
    'unanswered' as const,
    'dropped' as const,
    'not-taken' as const,
  ),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Step>({ kind: 'call' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'nonce-taken' }) },
  { weight: 1, arbitrary: sendFault },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reads-lag' as const), ms: lagMs }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('names-nonce' as const), is: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.nat(30_000) }) },
)

/** A caller's knowledge of its call. */
type Fate = 'waits' | 'receipted' | 'unknown' | 'refused'

/** How often a call was done by the end, by what its caller knows. */
const TIMES_DONE: Readonly<Record<Fate, readonly number[]>> = {
  waits: [],
  receipted: [1],
  unknown: [0, 1],
  refused: [0],
}

/** A ledger of one key that others use, too, behind a relay that misbehaves. */
class SharedKey {
  readonly clock: ManualClock = manualClock(1_700_000_000_000)
  readonly fates: Fate[] = []
  /** How often each call was mined. */
  readonly mined = new Map<number, number>()
  #nonces: { readonly atMs: number; readonly nonce: number }[] = [{ atMs: 0, nonce: 5 }]
  readonly #receiptedAtMs = new Map<string, number>()
  #faults: Extract<Step, { kind: 'fault' }>['fault'][] = []
  #readsLagMs = 0
  #namesNonce = true
  readonly #sender = createCallSender({
    relay: this.#relay(),
    facts: { gasPriceWeibar: Object.assign(async () => 100n, { forget: () => {} }) },
    chainId: 296,
    privateKey: `0x${'11'.repeat(32)}`,
    clock: this.clock,
  })

  async run(next: Step): Promise<void> {
    if (next.kind === 'call') this.#call()
    if (next.kind === 'nonce-taken') this.#useNonce()
    if (next.kind === 'fault') this.#faults.push(next.fault)
    if (next.kind === 'reads-lag') this.#readsLagMs = next.ms
    if (next.kind === 'names-nonce') this.#namesNonce = next.is
    await this.clock.advanceMsSettled(next.kind === 'time' ? next.ms : 0)
  }

  async rest(): Promise<void> {
    this.#faults = []
    await this.clock.advanceMsSettled(REST_MS)
  }

  #call(): void {
    const number = this.fates.push('waits') - 1
    const call = {
      to: `0x${'22'.repeat(20)}`,
      data: numberToHex(number + 1),
      valueTinybar: 0n,
      gas: 21_000n,
    } as const
    const follow = async (): Promise<void> => {
      try {
        const { receipt } = await this.#sender.send(call)
        this.fates[number] = receipt === undefined ? 'unknown' : 'receipted'
      } catch {
        this.fates[number] = 'refused'
      }
    }
    void follow()
  }

  get #nonce(): number {
    return this.#nonces.at(-1)?.nonce ?? 0
  }

  #useNonce(): void {
    this.#nonces.push({ atMs: this.clock.unixMs(), nonce: this.#nonce + 1 })
  }

  #relay(): Relay {
    return {
      read: async (method, [subject]) => {
        const shownMs = this.clock.unixMs() - this.#readsLagMs
        if (method === 'eth_getTransactionCount')
          return numberToHex(this.#nonces.findLast(({ atMs }) => atMs <= shownMs)?.nonce ?? 0)
        if ((this.#receiptedAtMs.get(String(subject)) ?? Number.POSITIVE_INFINITY) > shownMs)
          return null
        return {
          status: '0x1',
          logs: [],
          gasUsed: '0x1',
          effectiveGasPrice: '0x1',
          blockNumber: '0x1',
        }
      },
      send: async (bytes) => {
        const fault = this.#faults.shift()
        if (fault === 'not-taken') throw new RelayUnavailable('unreached', { nothingSent: true })
        if (fault === 'late') this.clock.after(LATE_MS, () => void this.#take(bytes as Hex))
        const isGone = fault === 'lost' || fault === 'late'
        const refusal = isGone ? undefined : this.#take(bytes as Hex, fault === 'dropped')
        if (isGone || fault === 'unanswered') throw new RelayUnavailable('no answer')
        if (refusal !== undefined) throw new RelayRefusal(refusal, undefined)
      },
    }
  }

  #take(bytes: Hex, isDropped = false): string | undefined {
    const { data, nonce = 0 } = parseTransaction(bytes)
    if (nonce !== this.#nonce) {
      const named = `Nonce too ${nonce < this.#nonce ? 'low' : 'high'}. Provided nonce: ${nonce}, current nonce: ${this.#nonce}`
      return this.#namesNonce ? named : 'WRONG_NONCE'
    }
    if (isDropped) return undefined
    const number = Number(data) - 1
    this.mined.set(number, (this.mined.get(number) ?? 0) + 1)
    this.#receiptedAtMs.set(keccak256(bytes), this.clock.unixMs())
    this.#useNonce()
    return undefined
  }
}

test('A10, A14, A15: a call is done once at most; receipted if its caller has a receipt, not done if it was refused', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (history) => {
    const key = new SharedKey()
    for (const next of history) await key.run(next)
    await key.rest()
    for (const [number, fate] of key.fates.entries())
      expect(TIMES_DONE[fate], fate).toContain(key.mined.get(number) ?? 0)
  })
  await fc.assert(property, { numRuns })
})
