/** Writes to the access contract from payTo's key: forwarded purchases and reaped schedules. */
import { accessWindowAbi } from '@tallystick/contracts'
import type { Clock } from '@tallystick/service-kit'
import { type PublicClient, parseEventLogs, type TransactionReceipt } from 'viem'
import {
  type AccessWindow,
  type Hex,
  ledgerSeconds,
  ZERO_ADDRESS,
} from '../domain/access-window.ts'
import {
  type AccessContract,
  ChainUnavailable,
  ContractAbsent,
  type ContractSender,
  type OpenOutcome,
  type PurchaseOrder,
  type Rehearsal,
} from '../domain/ports.ts'
import { contractTransaction, revertOf, WEIBAR_PER_TINYBAR } from './ledger-client.ts'
import { createOrderedSender } from './ordered-sender.ts'

/** `reap` gives up a schedule and arms anew: 1.41 M gas for the schedule service, 0.1 M of our own. */
export const REAP_GAS = 2_000_000n

/** Sends of one order: the second follows a lost nonce, the third a race with another replica. */
const OPEN_TRIES = 3

type ViemContractSenderOptions = {
  readonly client: PublicClient
  readonly chainId: number
  readonly contract: AccessContract
  /** payTo's key. */
  readonly privateKey: Hex
  readonly clock: Clock
}

/** `openPaid` with arming uses up to 1.62 M gas; estimates are wrong for calls that schedule. Only what is used is charged. */
const OPEN_GAS = 2_000_000n

export function createViemContractSender(options: ViemContractSenderOptions): ContractSender {
  const { client, contract } = options
  const sender = createOrderedSender(options)

  /** Runs `openPaid` with its value without sending it (A3). Throws viem's error where the ledger does not answer. */
  const rehearse = async (order: PurchaseOrder): Promise<Rehearsal> => {
    const { address: account } = sender
    const address = addressOf(contract)
    const gasTinybar = forwardGas(await sender.gasPriceWeibar())
    const held = (await client.getBalance({ address: account })) / WEIBAR_PER_TINYBAR
    // First: a node that checks the balance refuses the call itself, in words of its own.
    if (held < order.valueTinybar + gasTinybar) return { kind: 'float-low' }
    const reason = await revertOf(client, { account, address }, openPaidCall(order))
    if (reason === undefined) return { kind: 'ready' }
    if (reason === 'AccessWindow_PaymentAlreadyUsed') return { kind: 'already-used' }
    return { kind: 'refused', reason }
  }

  /** Undefined where it was sent and its fate is not known, or where it lost a race: the next rehearsal tells. */
  const attemptOpen = async (order: PurchaseOrder): Promise<OpenOutcome | undefined> => {
    const rehearsal = await rehearse(order)
    switch (rehearsal.kind) {
      case 'already-used':
        return { ...rehearsal, agent: (await contract.paymentOf(order.paymentReference)).agent }
      case 'refused':
        return rehearsal
      case 'float-low':
        throw new ChainUnavailable('payTo holds less than a purchase and the gas of its forward')
      case 'ready': {
        const receipt = await sender.send(
          contractTransaction(addressOf(contract), openPaidCall(order)),
        )
        if (receipt?.status !== 'success') return undefined
        return openingOf(receipt, order, options)
      }
      default:
        return rehearsal satisfies never
    }
  }

  const reap = async (agent: Hex): ReturnType<ContractSender['reap']> => {
    const address = addressOf(contract)
    const call = { functionName: 'reap', args: [agent], valueTinybar: 0n, gas: REAP_GAS }
    const revert = await revertOf(client, { account: sender.address, address }, call)
    if (revert !== undefined) return { kind: 'left' }
    const receipt = await sender.send(contractTransaction(address, call))
    return receipt?.status === 'success'
      ? { kind: 'reaped', transactionHash: receipt.transactionHash }
      : { kind: 'left' }
  }

  return {
    address: sender.address,
    rehearse: (order) => named(() => rehearse(order)),
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

/**
 * The window that a successful `openPaid` left behind, from its receipt's events, since reads lag behind receipts. A
 * top-up leaves the window as it was, though cancelled no more, so that there a read supplies what the event does not say.
 */
async function openingOf(
  receipt: TransactionReceipt,
  order: PurchaseOrder,
  { contract, clock }: ViemContractSenderOptions,
): Promise<Extract<OpenOutcome, { kind: 'opened' }>> {
  const { transactionHash } = receipt
  const logs = parseEventLogs({ abi: accessWindowAbi, logs: receipt.logs }).filter(
    (log) => log.address.toLowerCase() === contract.address,
  )
  for (const log of logs) {
    if (log.eventName === 'SubscriptionOpened') {
      const offer = (await contract.offers())[log.args.offerId]
      if (offer === undefined) break
      const armed = logs.find((other) => other.eventName === 'RenewalArmed')
      const window: AccessWindow = {
        exists: true,
        isOpen: true,
        isCancelled: false,
        isGuarded: false,
        expiresAtSeconds: Number(log.args.expiresAt),
        periodSeconds: offer.periodSeconds,
        priceTinybar: offer.priceTinybar,
        balanceTinybar: log.args.balanceTinybar,
        periodsFunded: Number(log.args.balanceTinybar / offer.priceTinybar),
        callsUsed: order.calls,
        callsAllowed: offer.callsAllowed,
        schedule: armed === undefined ? ZERO_ADDRESS : (armed.args.schedule.toLowerCase() as Hex),
        scheduledAtSeconds: armed === undefined ? 0 : Number(armed.args.scheduledAt),
      }
      return { kind: 'opened', transactionHash, isTopUp: false, window }
    }
    if (log.eventName === 'SubscriptionToppedUp') {
      const { balanceTinybar } = log.args
      const read = await contract.windowOf(order.agent, ledgerSeconds(clock))
      const periodsFunded = Number(balanceTinybar / read.priceTinybar)
      const window = { ...read, isCancelled: false, balanceTinybar, periodsFunded }
      return { kind: 'opened', transactionHash, isTopUp: true, window }
    }
  }
  throw new ChainUnavailable('the receipt of a purchase does not say what it opened')
}

function openPaidCall({ valueTinybar, paidAtSeconds, ...order }: PurchaseOrder) {
  const purchase = { ...order, paidAtSeconds: BigInt(paidAtSeconds) }
  return { functionName: 'openPaid', args: [purchase], valueTinybar, gas: OPEN_GAS }
}

/** Gas of one forward at a price, tinybar: what must be held, not what is charged. */
export function forwardGas(gasPriceWeibar: bigint): bigint {
  return (OPEN_GAS * gasPriceWeibar) / WEIBAR_PER_TINYBAR
}
