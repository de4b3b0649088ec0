import type { VerifiedPayment } from '@tallystick/x402'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { describe, expect, test } from 'vitest'
import {
  ConsensusUnavailable,
  createExactFacilitator,
  type SettlementEnd,
  type Submitted,
} from './settlement.ts'

const network = 'hedera:testnet'
const wanted = {
  scheme: 'exact',
  network,
  asset: '0.0.0',
  amount: '100',
  payTo: '0.0.7',
  maxTimeoutSeconds: 180,
  extra: {},
} as unknown as PaymentRequirements

const settled: SettlementEnd = { outcome: 'settled', reason: '', transaction: 'tx' }
const pending: SettlementEnd = { outcome: 'pending', reason: 'settlement_pending' }
const taken: Submitted = { hash: 'ab', transaction: 'tx' }

/** A payment with an id and the content signed under it. */
const payload = (id: string, terms: string): PaymentPayload => ({
  x402Version: 2,
  accepted: wanted,
  payload: { id, terms },
})

const submitTaken = async () => taken

/** A ledger that verifies everything and otherwise does what a test tells it to. */
function scripted(script: {
  readonly submit: (terms: string) => Promise<Submitted | SettlementEnd>
  readonly ends?: SettlementEnd[]
  readonly inFlightMax?: number
  readonly isRepeatable?: boolean
  readonly servedPayTo?: ReadonlySet<string>
}) {
  const { ends = [], inFlightMax, isRepeatable = false, servedPayTo } = script
  const concluded: string[] = []
  const facilitator = createExactFacilitator(
    {
      network,
      caipFamily: 'hedera:*',
      signer: '0.0.5',
      expired: 'transaction_expired',
      async verify(read) {
        const { id } = read as { id: string }
        const { payTo } = wanted
        const payment = { id, network, payer: '0.0.9', payTo, amount: 100n } as VerifiedPayment
        return { kind: 'valid', payment }
      },
      order(_payment, read) {
        const { terms } = read as { terms: string }
        return {
          terms,
          duplicate: { outcome: 'duplicate', reason: 'DUPLICATE_TRANSACTION' },
          preflight: async () => undefined,
          submit: () => script.submit(terms),
          isRepeatable,
          async conclude(hashes) {
            concluded.push([...hashes].join('+'))
            return ends.shift() ?? settled
          },
        }
      },
    },
    { servedPayTo, ...(inFlightMax === undefined ? {} : { inFlightMax }) },
  )
  const settle = (id: string, terms: string) => facilitator.settle(payload(id, terms), wanted)
  return { concluded, facilitator, settle }
}

describe('settling once', () => {
  test('X7: identical concurrent payments share one submission and one answer; a different payment under its id is a duplicate; too many are a 503', async () => {
    let submissions = 0
    const landing = Promise.withResolvers<Submitted>()
    const { facilitator, settle } = scripted({
      inFlightMax: 1,
      submit() {
        submissions += 1
        return landing.promise
      },
    })
    const same = [settle('a', '1'), settle('a', '1')]
    expect(await settle('a', '2')).toMatchObject({ errorReason: 'DUPLICATE_TRANSACTION' })
    await expect(settle('b', '1')).rejects.toThrow(ConsensusUnavailable)
    expect(facilitator.inFlightCount).toBe(1)
    landing.resolve(taken)
    const [first, second] = await Promise.all(same)
    expect(first).toMatchObject({ success: true, transaction: 'tx' })
    expect(second).toBe(first)
    expect(submissions).toBe(1)
    expect(facilitator.inFlightCount).toBe(0)
  })

  test('a submission that throws leaves no trace: the next one submits again', async () => {
    const failures = [new ConsensusUnavailable('consensus_unavailable')]
    const { facilitator, settle } = scripted({
      async submit() {
        const failure = failures.shift()
        if (failure !== undefined) throw failure
        return taken
      },
    })
    await expect(settle('a', '1')).rejects.toThrow(ConsensusUnavailable)
    expect(facilitator.inFlightCount).toBe(0)
    expect(await settle('a', '1')).toMatchObject({ success: true })
  })

  test('a doubt belongs to the exact bytes submitted: the same bytes are looked up again, others are submitted', async () => {
    const submitted: string[] = []
    const { concluded, settle } = scripted({
      ends: [pending, pending],
      async submit(terms) {
        submitted.push(terms)
        return { ...taken, hash: terms }
      },
    })
    expect(await settle('a', '1')).toMatchObject({ errorReason: 'settlement_pending' })
    expect(await settle('a', '1')).toMatchObject({ errorReason: 'settlement_pending' })
    expect(submitted).toEqual(['1'])
    expect(await settle('a', '2')).toMatchObject({ success: true })
    expect(submitted).toEqual(['1', '2'])
    expect(concluded).toEqual(['1', '1', '2'])
  })

  test('X9: a submission that may have failed is made again at once, and with the next request, where that is harmless', async () => {
    let submissions = 0
    const { concluded, settle } = scripted({
      isRepeatable: true,
      ends: [pending],
      async submit() {
        submissions += 1
        return { ...taken, hash: `at ${submissions}`, cause: 'no answer' }
      },
    })
    expect(await settle('a', '1')).toMatchObject({ errorReason: 'settlement_pending' })
    expect(submissions).toBe(2)
    expect(await settle('a', '1')).toMatchObject({ success: true })
    expect(submissions).toBe(4)
    expect(concluded).toEqual(['at 1+at 2', 'at 1+at 2+at 3+at 4'])
  })

  test.each<[string, () => Promise<SettlementEnd>]>([
    ['refused', async () => ({ outcome: 'refused', reason: 'transaction_expired' })],
    [
      'impossible',
      async () => await Promise.reject(new ConsensusUnavailable('consensus_unavailable')),
    ],
  ])(
    'X8: what an earlier submission may have done is looked up although the next is %s',
    async (_, next) => {
      const submissions = [async () => ({ ...taken, cause: 'no answer' }), next]
      const { concluded, settle } = scripted({
        isRepeatable: true,
        submit: async () => await (submissions.shift() ?? next)(),
      })
      expect(await settle('a', '1')).toMatchObject({ success: true })
      expect(concluded).toEqual([taken.hash])
    },
  )

  test('X14: a facilitator that is told which payTo it serves settles for no other, and what that one refunds', async () => {
    const served = scripted({
      submit: submitTaken,
      servedPayTo: new Set([wanted.payTo.toLowerCase()]),
    })
    expect(await served.settle('a', '1')).toMatchObject({ success: true })
    const refunding = scripted({ submit: submitTaken, servedPayTo: new Set(['0.0.9']) })
    expect(await refunding.settle('a', '1')).toMatchObject({ success: true })
    const other = scripted({ submit: submitTaken, servedPayTo: new Set(['0.0.4711']) })
    expect(await other.settle('a', '1')).toMatchObject({
      success: false,
      errorReason: 'pay_to_not_served_by_facilitator',
      transaction: '',
    })
    expect(await other.facilitator.verify(payload('a', '1'), wanted)).toMatchObject({
      isValid: false,
    })
  })

  test('a payment with a known outcome is no longer in doubt', async () => {
    let submissions = 0
    const { settle } = scripted({
      async submit() {
        submissions += 1
        return taken
      },
    })
    await settle('a', '1')
    await settle('a', '1')
    expect(submissions).toBe(2)
  })
})
