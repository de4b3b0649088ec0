import type { EdgeAnswer, EdgeFate } from '../faulty-edge.ts'
import {
  type FaultScene,
  type How,
  isSettle,
  json,
  later,
  type PurchaseFault,
  page,
  where,
} from './purchase-fault.ts'

/** A fault of the facilitator's answer to `/settle`. */
const settle = (name: string, how: (scene: FaultScene) => How): PurchaseFault => ({
  name: `the facilitator ${name}`,
  arm: (scene) => scene.replica.edges.facilitator.intercept(where(isSettle, how(scene))),
})

/** The facilitator settles, and then answers this instead. */
const settledThen = (name: string, answer: (settled: string) => EdgeFate): PurchaseFault =>
  settle(`settles and then ${name}`, () => async (_request, forward) => {
    const { transaction } = JSON.parse((await forward()).body) as { transaction: string }
    return answer(transaction)
  })

const refusal = (errorReason: string, transaction = ''): EdgeAnswer =>
  json({ success: false, errorReason, transaction, network: 'hedera:testnet' })

/** The facilitator is down, slow, answers nonsense, or answers failure after the money moved. */
export const facilitatorFaults: readonly PurchaseFault[] = [
  settle('is down', () => async () => 'cut'),
  settle('is slow by 20 s', ({ world }) => async (_request, forward) => {
    await later(world, 20_000)
    return forward()
  }),
  settle('settles at once and answers after 40 s', ({ world }) => async (_request, forward) => {
    const answer = await forward()
    await later(world, 40_000)
    return answer
  }),
  settle('answers a page', () => page),
  settle('answers an empty object', () => async () => json({})),
  settle('answers half of its JSON', () => async (_request, forward) => {
    const { body } = await forward()
    return { status: 200, body: body.slice(0, 20) }
  }),
  settle(
    'answers success without a transaction',
    () => async () => json({ success: true, transaction: '', network: 'hedera:testnet' }),
  ),
  settle(
    'answers success on another network',
    () => async () =>
      json({ success: true, transaction: '0.0.1@1.000000001', network: 'hedera:mainnet' }),
  ),
  settle(
    'answers success of another transaction',
    () => async () =>
      json({ success: true, transaction: '0.0.1@1.000000001', network: 'hedera:testnet' }),
  ),
  settle('answers 500', () => async () => json({ error: 'internal' }, 500)),
  settle('answers 503', () => async () => json({ error: 'busy' }, 503)),
  settle('redirects with 308', () => async () => json({}, 308)),
  settle(
    'refuses with a reason that is known to precede submission',
    () => async () => refusal('invalid_exact_hedera_payload_fee_too_high'),
  ),
  settledThen('is cut off', () => 'cut'),
  settledThen('answers 500', () => json({ error: 'internal' }, 500)),
  settledThen('answers a page', () => ({ status: 200, body: '<html>' })),
  settledThen('answers transaction_failed', (id) => refusal('transaction_failed', id)),
  settledThen('answers DUPLICATE_TRANSACTION', (id) => refusal('DUPLICATE_TRANSACTION', id)),
  settledThen('answers insufficient_funds', () => refusal('insufficient_funds')),
  settledThen('answers a reason that nobody knows', () => refusal('moon_in_the_wrong_house')),
]
