import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import {
  HederaStandIn,
  PAY_TO,
  PAYER,
  standInTerms,
} from '../../testing/hedera-stand-in.fixture.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import { createFeeFloor } from './fee-floor.ts'
import { verifyHederaPayment } from './verify-hedera-payment.ts'

const HOUR_MS = 3_600_000

function stand() {
  const clock = manualClock(0)
  const mirror = { rate: 12_500_000n as bigint | undefined, reads: 0 }
  const feeFloor = createFeeFloor({
    clock,
    mirror: {
      async tinybarPerCent() {
        mirror.reads += 1
        if (mirror.rate === undefined) throw new LedgerUnavailable('down')
        return mirror.rate
      },
    },
  })
  return { clock, feeFloor, mirror }
}

test('X14: the least fee is twice the price of a transfer with two signatures, of HBAR or of a token with custom fees, at the network’s rate, read once an hour', async () => {
  const { clock, feeFloor, mirror } = stand()
  expect(await feeFloor('0.0.0')).toBe(500_000n)
  expect(await feeFloor('0.0.6001')).toBe(5_250_000n)
  mirror.rate = 1_000_000_000n
  expect(await feeFloor('0.0.0')).toBe(500_000n)
  await clock.advanceMsSettled(HOUR_MS)
  expect(await feeFloor('0.0.0')).toBe(40_000_000n)
  expect(mirror.reads).toBe(2)
  mirror.rate = 10n ** 12n
  await clock.advanceMsSettled(HOUR_MS)
  expect(await feeFloor('0.0.0')).toBe(100_000_000n)
})

test('X14: while the rate cannot be read the last one holds, and at first the lowest', async () => {
  const { clock, feeFloor, mirror } = stand()
  mirror.rate = undefined
  expect([await feeFloor('0.0.0'), await feeFloor('0.0.0')]).toEqual([40_000n, 40_000n])
  expect(mirror.reads).toBe(1)
  mirror.rate = 12_500_000n
  await clock.advanceMsSettled(60_000)
  expect(await feeFloor('0.0.0')).toBe(500_000n)
})

test('X14: a maxTransactionFee under the price of a transfer is refused', async () => {
  const ledger = new HederaStandIn()
  const terms = standInTerms()
  const [requirement] = terms.requirements
  if (requirement === undefined) throw new Error('no requirement')
  const { payload } = JSON.parse(Buffer.from(await ledger.pay(terms), 'base64').toString())
  const verify = (feeMinTinybar: bigint) =>
    verifyHederaPayment(payload, requirement, {
      accounts: ledger.directory,
      nowSeconds: ledger.nowSeconds(),
      feeMinTinybar,
    })
  expect(await verify(100_000_001n)).toEqual({
    kind: 'refused',
    reason: 'invalid_exact_hedera_payload_fee_too_low',
  })
  expect(await verify(100_000_000n)).toMatchObject({
    kind: 'valid',
    payment: { payer: PAYER, payTo: PAY_TO },
  })
})
