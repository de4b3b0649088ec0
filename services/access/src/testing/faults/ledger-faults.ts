import type { EdgeRequest } from '../faulty-edge.ts'
import {
  afterSettlement,
  isForward,
  json,
  once,
  type PurchaseFault,
  page,
} from './purchase-fault.ts'

const rpcError = (code: number, message: string) => async (request: EdgeRequest) =>
  json({
    jsonrpc: '2.0',
    id: (JSON.parse(request.body) as { id: number }).id,
    error: { code, message },
  })

/** What the ledger's JSON-RPC does to the reads and the forward of a purchase. */
export const ledgerFaults: readonly PurchaseFault[] = [
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
    arm: ({ world }) => world.devnet.controls.setReadLagMs(10_000),
  },
  {
    name: 'the nonces that the ledger tells lag by 10 s',
    arm: ({ world }) => world.devnet.controls.setNonceLagMs(10_000),
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
    arm: ({ world }) => world.devnet.controls.dropNextTransactions(1),
  },
  {
    name: 'two forwards in a row are lost by the network',
    arm: ({ world }) => world.devnet.controls.dropNextTransactions(2),
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
