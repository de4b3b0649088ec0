import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import type { VerifiedPayment } from '../../payment.ts'
import {
  centRequirement,
  EVM_NOW_SECONDS,
  EVM_PAY_TO,
  EvmStandIn,
  payCent,
  settlementEvents,
  usedKey,
} from '../../testing/evm-stand-in.fixture.ts'
import { X_LAYER_USDT0 } from './evm-asset.ts'
import { verifyEvmPayment } from './exact-evm-scheme.ts'
import { findEvmPayment } from './find-evm-payment.ts'

const OTHER = `0x${'22'.repeat(20)}` as const

async function paid(chain: EvmStandIn): Promise<VerifiedPayment> {
  const verification = await verifyEvmPayment(await payCent(), centRequirement(), {
    assets: [X_LAYER_USDT0],
    ledger: chain.ledger,
    nowSeconds: EVM_NOW_SECONDS,
  })
  if (verification.kind !== 'valid') throw new Error('not valid')
  return verification.payment
}

describe('X8: what the chain says about a payment', () => {
  test('landed: the nonce is used, and the same transaction paid us', async () => {
    const chain = new EvmStandIn()
    const payment = await paid(chain)
    const transaction = chain.mine(settlementEvents(payment))
    expect(await findEvmPayment(payment, chain.ledger)).toEqual({
      kind: 'landed',
      transaction,
      consensusSeconds: EVM_NOW_SECONDS,
    })
  })

  test.each([
    [0, 'unknown'],
    [330, 'unknown'],
    [332, 'never'],
  ])('unused %i s after signing is %s', async (seconds, kind) => {
    const clock = manualClock(EVM_NOW_SECONDS * 1_000)
    const chain = new EvmStandIn(clock)
    const payment = await paid(chain)
    clock.advanceMs(seconds * 1_000)
    expect(await findEvmPayment(payment, chain.ledger)).toEqual({ kind })
  })

  test('failed: cancelled by its owner', async () => {
    const chain = new EvmStandIn()
    const payment = await paid(chain)
    chain.mine([{ kind: 'canceled', key: payment }])
    const result = 'AUTHORIZATION_CANCELED'
    expect(await findEvmPayment(payment, chain.ledger)).toEqual({ kind: 'failed', result })
  })

  test('a nonce used without an event yet is not known; after expiry it failed', async () => {
    const clock = manualClock(EVM_NOW_SECONDS * 1_000)
    const chain = new EvmStandIn(clock)
    const payment = await paid(chain)
    chain.used.add(usedKey(payment))
    expect(await findEvmPayment(payment, chain.ledger)).toEqual({ kind: 'unknown' })
    clock.advanceMs(400_000)
    expect(await findEvmPayment(payment, chain.ledger)).toMatchObject({ kind: 'failed' })
  })

  test('is found days later, however many blocks have passed, in a bounded number of calls', async () => {
    const clock = manualClock(EVM_NOW_SECONDS * 1_000)
    const chain = new EvmStandIn(clock)
    const payment = await paid(chain)
    chain.mine(settlementEvents(payment), EVM_NOW_SECONDS + 20)
    clock.advanceMs(30 * 86_400_000)
    chain.calls = 0
    expect(await findEvmPayment(payment, chain.ledger)).toMatchObject({ kind: 'landed' })
    expect(chain.calls).toBeLessThan(80)
  })
})

describe('a transaction that used the nonce for something else', () => {
  test.each([
    ['paid somebody else', { to: OTHER }],
    ['paid less', { value: 9_999n }],
    ['was paid by somebody else', { from: OTHER }],
    ['moved another token', { asset: OTHER }],
  ])('%s', async (_name, changes) => {
    const chain = new EvmStandIn()
    const payment = await paid(chain)
    const [used, transfer] = settlementEvents(payment)
    chain.mine([used, { ...transfer, ...changes }])
    const result = 'OTHER_TRANSFER'
    expect(await findEvmPayment(payment, chain.ledger)).toEqual({ kind: 'failed', result })
  })

  test('no transfer at all', async () => {
    const chain = new EvmStandIn()
    const payment = await paid(chain)
    chain.mine([settlementEvents(payment)[0]])
    expect(await findEvmPayment(payment, chain.ledger)).toMatchObject({ kind: 'failed' })
  })

  test('one transfer to us does not count for two authorizations used in one transaction', async () => {
    const chain = new EvmStandIn()
    const [first, second] = [await paid(chain), await paid(chain)]
    const [used, transfer] = settlementEvents(first)
    // The second nonce was signed twice: for us, and for the payer's own other account.
    chain.mine([used, transfer, settlementEvents(second)[0], { ...transfer, to: OTHER }])
    expect(await findEvmPayment(first, chain.ledger)).toMatchObject({ kind: 'landed' })
    expect(await findEvmPayment(second, chain.ledger)).toMatchObject({ kind: 'failed' })
  })

  test('two honest authorizations in one transaction both count', async () => {
    const chain = new EvmStandIn()
    const [first, second] = [await paid(chain), await paid(chain)]
    chain.mine([...settlementEvents(first), ...settlementEvents(second)])
    expect(await findEvmPayment(first, chain.ledger)).toMatchObject({ kind: 'landed' })
    expect(await findEvmPayment(second, chain.ledger)).toMatchObject({ kind: 'landed' })
  })

  test('events of another contract in between do not matter', async () => {
    const chain = new EvmStandIn()
    const payment = await paid(chain)
    const [used, transfer] = settlementEvents(payment)
    const noise = {
      kind: 'transfer',
      asset: OTHER,
      from: OTHER,
      to: EVM_PAY_TO,
      value: 1n,
    } as const
    chain.mine([noise, used, noise, transfer])
    expect(await findEvmPayment(payment, chain.ledger)).toMatchObject({ kind: 'landed' })
  })
})
