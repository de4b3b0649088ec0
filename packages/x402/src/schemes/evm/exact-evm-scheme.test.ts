import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import {
  centRequirement,
  EVM_NOW_SECONDS,
  EvmStandIn,
  payCent,
  settlementEvents,
} from '../../testing/evm-stand-in.fixture.ts'
import { X_LAYER_USDT0 } from './evm-asset.ts'
import { createExactEvmScheme } from './exact-evm-scheme.ts'

test('a payer can pay if they hold the amount, or held it until this very payment took it', async () => {
  const chain = new EvmStandIn()
  const clock = manualClock(EVM_NOW_SECONDS * 1_000)
  const scheme = createExactEvmScheme({ assets: [X_LAYER_USDT0], ledger: chain.ledger, clock })
  const verified = await scheme.verify(await payCent(), centRequirement())
  if (verified.kind !== 'valid') throw new Error('not valid')
  const { payment } = verified
  const canPayWith = (balance: bigint) => {
    chain.balance = balance
    return scheme.canPay?.(payment)
  }
  expect(await canPayWith(10_000n)).toBe(true)
  expect(await canPayWith(9_999n)).toBe(false)
  chain.mine(settlementEvents(payment))
  expect(await canPayWith(9_999n)).toBe(true)
})
