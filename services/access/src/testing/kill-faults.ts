import {
  type Condition,
  isForward,
  isSettle,
  later,
  type PurchaseFault,
  where,
} from './purchase-fault.ts'

/** The process dies at a request; `arrives` says whether that request reaches the other side. */
const killedAt = (
  name: string,
  at: {
    readonly edge: 'rpc' | 'facilitator'
    readonly condition: Condition
    readonly arrives: boolean
  },
): PurchaseFault => ({
  name: `the process is killed ${name}`,
  arm: ({ replica }) =>
    replica.edges[at.edge].intercept(
      where(at.condition, async (_request, forward) => {
        if (at.arrives) await forward()
        replica.kill()
        return 'cut'
      }),
    ),
})

/** A process that dies at one request of a purchase. */
export const kills: readonly PurchaseFault[] = [
  killedAt('before it settles', { edge: 'facilitator', condition: isSettle, arrives: false }),
  killedAt('between settle and open', { edge: 'facilitator', condition: isSettle, arrives: true }),
  killedAt('as it sends the forward', { edge: 'rpc', condition: isForward, arrives: false }),
  killedAt('between open and the answer', { edge: 'rpc', condition: isForward, arrives: true }),
  killedAt('as it reads the receipt', {
    edge: 'rpc',
    condition: ({ body }) => body.includes('eth_getTransactionReceipt'),
    arrives: true,
  }),
  {
    name: 'the process is killed between settle and open while the mirror node lags by 10 s',
    isHidden: true,
    arm({ stack, replica }) {
      stack.devnet.controls.setMirrorLagMs(10_000)
      replica.edges.facilitator.intercept(
        where(isSettle, async (_request, forward) => {
          await forward()
          replica.kill()
          return 'cut'
        }),
      )
    },
  },
  {
    name: 'the process is killed while the network holds the payment',
    isHidden: true,
    arm({ stack, replica }) {
      stack.devnet.controls.holdConsensus(true)
      void later(stack, 8_000).then(() => stack.devnet.controls.holdConsensus(false))
      replica.edges.facilitator.intercept(
        where(isSettle, async (_request, forward) => {
          void forward().catch(() => undefined)
          await later(stack, 2_000)
          replica.kill()
          return 'cut'
        }),
      )
    },
  },
]
