import type { EdgeAnswer, EdgeFate, EdgeRequest } from './faulty-edge.ts'
import { kills } from './kill-faults.ts'
import {
  afterSettlement,
  type FaultScene,
  type How,
  isForward,
  isSettle,
  json,
  later,
  once,
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
const facilitatorFaults: readonly PurchaseFault[] = [
  settle('is down', () => async () => 'cut'),
  settle('is slow by 20 s', ({ stack }) => async (_request, forward) => {
    await later(stack, 20_000)
    return forward()
  }),
  settle('settles at once and answers after 40 s', ({ stack }) => async (_request, forward) => {
    const answer = await forward()
    await later(stack, 40_000)
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
  settledThen('answers a reason that nobody knows', () => refusal('moon_in_the_wrong_phase')),
]

/** What consensus and the mirror node do to a payment. */
const networkFaults: readonly PurchaseFault[] = [
  {
    name: 'the network loses the payment',
    arm: ({ stack }) => stack.devnet.controls.dropNextTransfers(1),
  },
  {
    name: 'the network takes the payment 20 s late',
    arm({ stack }) {
      stack.devnet.controls.holdConsensus(true)
      void later(stack, 20_000).then(() => stack.devnet.controls.holdConsensus(false))
    },
  },
  {
    name: 'a consensus node is busy',
    arm: ({ stack }) => stack.devnet.controls.refuseNext('BUSY'),
  },
  {
    name: 'the payment fails at consensus',
    arm: ({ stack }) =>
      stack.devnet.controls.refuseNext('INSUFFICIENT_ACCOUNT_BALANCE', 'consensus'),
  },
  {
    name: 'the mirror node is down',
    arm: ({ replica }) => replica.edges.mirror.intercept(async () => 'cut'),
  },
  {
    name: 'the mirror node answers pages',
    arm: ({ replica }) => replica.edges.mirror.intercept(page),
  },
  {
    name: 'the mirror node lags by 10 s',
    arm: ({ stack }) => stack.devnet.controls.setMirrorLagMs(10_000),
  },
  {
    name: 'the mirror node is down and the facilitator’s answer is lost',
    arm({ replica }) {
      replica.edges.mirror.intercept(async () => 'cut')
      replica.edges.facilitator.intercept(
        where(isSettle, async (_request, forward) => {
          await forward()
          return 'cut'
        }),
      )
    },
  },
]

const rpcError = (code: number, message: string) => async (request: EdgeRequest) =>
  json({
    jsonrpc: '2.0',
    id: (JSON.parse(request.body) as { id: number }).id,
    error: { code, message },
  })

/** What the ledger's JSON-RPC does to the reads and the forward of a purchase. */
const ledgerFaults: readonly PurchaseFault[] = [
  {
    name: 'the ledger is down before the payment',
    arm: ({ replica }) => replica.edges.rpc.intercept(async () => 'cut'),
  },
  {
    name: 'the ledger answers pages before the payment',
    arm: ({ replica }) => replica.edges.rpc.intercept(page),
  },
  {
    name: 'the ledger answers nothing but 0x',
    arm: ({ replica }) =>
      replica.edges.rpc.intercept(async ({ body }) =>
        json({ jsonrpc: '2.0', id: (JSON.parse(body) as { id: number }).id, result: '0x' }),
      ),
  },
  {
    name: 'reads of the ledger lag by 10 s',
    arm: ({ stack }) => stack.devnet.controls.setReadLagMs(10_000),
  },
  {
    name: 'the nonces that the ledger tells lag by 10 s',
    arm: ({ stack }) => stack.devnet.controls.setNonceLagMs(10_000),
  },
  afterSettlement('the ledger is down once the money has moved', ({ replica }) =>
    replica.edges.rpc.intercept(async () => 'cut'),
  ),
  afterSettlement('the ledger answers pages once the money has moved', ({ replica }) =>
    replica.edges.rpc.intercept(page),
  ),
  afterSettlement('the ledger limits the rate once the money has moved', ({ replica }) =>
    replica.edges.rpc.intercept(rpcError(-32_005, 'rate limited')),
  ),
  {
    name: 'the forward is lost by the network',
    arm: ({ stack }) => stack.devnet.controls.dropNextTransactions(1),
  },
  {
    name: 'two forwards in a row are lost by the network',
    arm: ({ stack }) => stack.devnet.controls.dropNextTransactions(2),
  },
  {
    name: 'the forward does not reach the ledger',
    arm: ({ replica }) => replica.edges.rpc.intercept(once(isForward, async () => 'cut')),
  },
  {
    name: 'the forward reaches the ledger and its answer is lost',
    arm: ({ replica }) =>
      replica.edges.rpc.intercept(
        once(isForward, async (_request, forward) => {
          await forward()
          return 'cut'
        }),
      ),
  },
  {
    name: 'the forward is sent into a nonce gap',
    arm: ({ replica }) =>
      replica.edges.rpc.intercept(
        once(
          ({ body }) => body.includes('eth_getTransactionCount'),
          async (_request, forward) => {
            const answer = JSON.parse((await forward()).body) as { result: string }
            return json({ ...answer, result: `0x${(Number(answer.result) + 3).toString(16)}` })
          },
        ),
      ),
  },
]

/** The seller's money and terms. */
const sellerFaults: readonly PurchaseFault[] = [
  {
    name: 'the forwarder is out of gas money before the payment',
    arm: ({ stack }) =>
      stack.devnet.controls.setBalanceTinybar(stack.payTo.accountId, 100_000_000n),
  },
  afterSettlement('the forwarder is out of gas money once the money has moved', ({ stack }) =>
    stack.devnet.controls.setBalanceTinybar(stack.payTo.accountId, 100_000_000n),
  ),
  {
    name: 'the recorder is out of gas money',
    arm: ({ stack }) => stack.devnet.controls.setBalanceTinybar(stack.recorder.accountId, 1n),
  },
  {
    name: 'the price of gas is fourfold',
    arm: ({ stack }) => stack.devnet.controls.setGasPriceTinybar(436n),
  },
  {
    name: 'the price changes between challenge and payment',
    arm: ({ stack }) =>
      stack.asOwner({ functionName: 'setOffer', args: [200_000_000n, 60, 20, 1] }),
  },
  afterSettlement('the price changes once the money has moved', ({ stack }) =>
    stack.asOwner({ functionName: 'setOffer', args: [200_000_000n, 60, 20, 1] }),
  ),
  {
    name: 'sales are paused between challenge and payment',
    arm: ({ stack }) => stack.asOwner({ functionName: 'pauseSales', args: [true] }),
  },
  afterSettlement('sales are paused once the money has moved', ({ stack }) =>
    stack.asOwner({ functionName: 'pauseSales', args: [true] }),
  ),
]

export const paymentFaults = [...facilitatorFaults, ...networkFaults]
export const forwardFaults = [...ledgerFaults, ...sellerFaults, ...kills]

/** What can go wrong while an agent pays, each with its name. */
export const purchaseFaults = [...paymentFaults, ...forwardFaults]
