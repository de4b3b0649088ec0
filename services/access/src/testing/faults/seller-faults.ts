import { afterSettlement, type PurchaseFault } from './purchase-fault.ts'

/** The seller's money and terms. */
export const sellerFaults: readonly PurchaseFault[] = [
  {
    name: 'the forwarder is out of gas money before the payment',
    arm: ({ world }) =>
      world.devnet.controls.setBalanceTinybar(world.payTo.accountId, 100_000_000n),
  },
  afterSettlement('the forwarder is out of gas money once the money has moved', ({ world }) =>
    world.devnet.controls.setBalanceTinybar(world.payTo.accountId, 100_000_000n),
  ),
  {
    name: 'the recorder is out of gas money',
    arm: ({ world }) => world.devnet.controls.setBalanceTinybar(world.recorder.accountId, 1n),
  },
  {
    name: 'the price of gas is fourfold',
    arm: ({ world }) => world.devnet.controls.setGasPriceTinybar(436n),
  },
  {
    name: 'the price changes between challenge and payment',
    arm: ({ world }) => world.asOwner({ functionName: 'setOffer', args: [200_000_000n, 60, 20] }),
  },
  afterSettlement('the price changes once the money has moved', ({ world }) =>
    world.asOwner({ functionName: 'setOffer', args: [200_000_000n, 60, 20] }),
  ),
  {
    name: 'sales are paused between challenge and payment',
    arm: ({ world }) => world.asOwner({ functionName: 'pauseSales', args: [true] }),
  },
  afterSettlement('sales are paused once the money has moved', ({ world }) =>
    world.asOwner({ functionName: 'pauseSales', args: [true] }),
  ),
]
