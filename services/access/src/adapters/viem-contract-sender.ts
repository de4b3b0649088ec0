/** Writes to the access contract from payTo's key: forwarded purchases and reaped schedules. */
import { accessWindowAbi } from '@tallystick/contracts'
import type { Clock } from '@tallystick/service-kit'
import { encodeFunctionData, type PublicClient } from 'viem'
import { type AccessContract, ChainUnavailable, ContractAbsent } from '../domain/access-contract.ts'
import type { Hex } from '../domain/access-window.ts'
import type { ContractSender, OpenOutcome, PurchaseOrder } from '../domain/contract-sender.ts'
import { WEIBAR_PER_TINYBAR } from './hedera-units.ts'
import { windowOfReceipt } from './opened-window.ts'
import { createOrderedSender } from './ordered-sender.ts'
import { forwardGas, OPEN_GAS, purchaseArgument, rehearsePurchase } from './purchase-rehearsal.ts'
import { revertName } from './viem-errors.ts'

/** `reap` gives up a schedule and arms anew: 1.41 M gas for the schedule service, 0.1 M of our own. */
export const REAP_GAS = 2_000_000n

/** Sends of one order: the second follows a lost nonce, the third a race with another replica. */
const OPEN_TRIES = 3

export type ViemContractSenderOptions = {
  readonly client: PublicClient
  readonly chainId: number
  readonly contract: AccessContract
  /** payTo's key. */
  readonly privateKey: Hex
  readonly clock: Clock
}

const abi = accessWindowAbi

export function createViemContractSender(options: ViemContractSenderOptions): ContractSender {
  const { client, contract, clock } = options
  const sender = createOrderedSender(options)

  const stage = async () => ({
    client,
    contract: addressOf(contract),
    payTo: sender.address,
    gasPriceWeibar: await sender.gasPriceWeibar(),
  })

  /** Undefined where it was sent and its fate is not known, or where it lost a race: the next rehearsal tells. */
  const attemptOpen = async (order: PurchaseOrder): Promise<OpenOutcome | undefined> => {
    const rehearsal = await rehearsePurchase(await stage(), order)
    switch (rehearsal.kind) {
      case 'already-used':
        return { ...rehearsal, agent: (await contract.paymentOf(order.paymentReference)).agent }
      case 'refused':
        return rehearsal
      case 'float-low':
        throw new ChainUnavailable('payTo holds less than a purchase and the gas of its forward')
      case 'ready': {
        const receipt = await sender.send({
          to: addressOf(contract),
          data: encodeFunctionData({
            abi,
            functionName: 'openPaid',
            args: [purchaseArgument(order)],
          }),
          valueTinybar: order.valueTinybar,
          gas: OPEN_GAS,
        })
        if (receipt?.status !== 'success') return undefined
        return { kind: 'opened', ...(await windowOfReceipt({ receipt, order, contract, clock })) }
      }
      default:
        return rehearsal satisfies never
    }
  }

  const reap = async (agent: Hex): ReturnType<ContractSender['reap']> => {
    const address = addressOf(contract)
    const call = { abi, functionName: 'reap', args: [agent] } as const
    try {
      await client.simulateContract({ ...call, account: sender.address, address, gas: REAP_GAS })
    } catch (error) {
      if (revertName(error) !== undefined) return { kind: 'left' }
      throw error
    }
    const data = encodeFunctionData(call)
    const receipt = await sender.send({ to: address, data, valueTinybar: 0n, gas: REAP_GAS })
    return receipt?.status === 'success'
      ? { kind: 'reaped', transactionHash: receipt.transactionHash }
      : { kind: 'left' }
  }

  return {
    address: sender.address,
    rehearse: (order) => named(async () => rehearsePurchase(await stage(), order)),
    openPaid: (order) => named(() => untilDefinite(() => attemptOpen(order))),
    reap: (agent) => named(() => reap(agent)),
    floatTinybar: () =>
      named(
        async () => (await client.getBalance({ address: sender.address })) / WEIBAR_PER_TINYBAR,
      ),
    forwardGasTinybar: () => named(async () => forwardGas(await sender.gasPriceWeibar())),
    close: () => sender.close(),
  }
}

/** Repeats what lost a race or a nonce; a reference that was consumed by then ends it. */
async function untilDefinite<Outcome>(
  attempt: () => Promise<Outcome | undefined>,
): Promise<Outcome> {
  for (let tries = 1; tries <= OPEN_TRIES; tries += 1) {
    const outcome = await attempt()
    if (outcome !== undefined) return outcome
  }
  throw new ChainUnavailable('the forwarded purchase got no receipt')
}

function addressOf(contract: AccessContract): Hex {
  if (contract.address === undefined) throw new ContractAbsent('no contract address is configured')
  return contract.address
}

/** Gives every failure of the ledger its one name. */
async function named<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ChainUnavailable || error instanceof ContractAbsent) throw error
    throw new ChainUnavailable('the ledger did not take the call', { cause: error })
  }
}
