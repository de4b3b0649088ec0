import { isSettle, later, type PurchaseFault, page, where } from './purchase-fault.ts'

/** What consensus and the mirror node do to a payment. */
export const networkFaults: readonly PurchaseFault[] = [
  {
    name: 'the network loses the payment',
    arm: ({ world }) => world.devnet.controls.dropNextTransfers(1),
  },
  {
    name: 'the network takes the payment 20 s late',
    arm({ world }) {
      world.devnet.controls.holdConsensus(true)
      void later(world, 20_000).then(() => world.devnet.controls.holdConsensus(false))
    },
  },
  {
    name: 'a consensus node is busy',
    arm: ({ world }) => world.devnet.controls.refuseNext('BUSY'),
  },
  {
    name: 'the payment fails at consensus',
    arm: ({ world }) =>
      world.devnet.controls.refuseNext('INSUFFICIENT_ACCOUNT_BALANCE', 'consensus'),
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
    arm: ({ world }) => world.devnet.controls.setMirrorLagMs(10_000),
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
