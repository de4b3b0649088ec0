/** Writes to the access contract from payTo's key: forwarded purchases, and re-armed renewals. */
import { type Clock, keptRead } from '@tallystick/service-kit'
import {
  type AccessContract,
  ChainUnavailable,
  ContractAbsent,
  type ContractSender,
  type Offer,
  type OpenOutcome,
  type PurchaseOrder,
  type RearmOutcome,
  type Rehearsal,
} from '../domain/access-contract.ts'
import {
  type AccessWindow,
  type Hex,
  ledgerSeconds,
  periodsInReach,
} from '../domain/access-window.ts'
import { createCallSender, offeredGasPrice } from './call-sender.ts'
import {
  decodeContractEvents,
  encodeTransaction,
  findRevert,
  readArmingGas,
  withoutChecksum,
} from './contract-calls.ts'
import { type LedgerFacts, type LedgerReceipt, WEIBAR_PER_TINYBAR } from './ledger-facts.ts'
import type { Relay } from './relay.ts'

/** Sends of one order: the second follows a lost nonce, the third a race with another replica. */
const OPEN_TRIES = 3

/** The contract computes its gas from a price that it sees at each transaction; that includes a margin. */
const ARMING_GAS_MS = 10_000

type AccessContractWriterOptions = {
  readonly relay: Relay
  readonly facts: LedgerFacts
  readonly chainId: number
  readonly contract: AccessContract
  /** payTo's key. */
  readonly privateKey: Hex
  readonly clock: Clock
}

export function createAccessContractWriter(options: AccessContractWriterOptions): ContractSender {
  const { contract, facts, relay } = options
  const sender = createCallSender(options)
  const balance = facts.balanceTinybar(sender.address)
  const rehearsals = createRehearsals(options, sender.address)

  /** A send of this process makes kept reads stale. */
  const send: typeof sender.send = async (call) => {
    try {
      return await sender.send(call)
    } finally {
      balance.forget()
      contract.wrote()
    }
  }

  /** Undefined if it was sent and its fate is unknown, or if it lost a race: the next rehearsal finds out. */
  const attemptOpen = async (order: PurchaseOrder): Promise<OpenOutcome | undefined> => {
    const [rehearsal, offers] = await Promise.all([rehearsals.rehearse(order), contract.offers()])
    switch (rehearsal.kind) {
      case 'already-used':
        return { ...rehearsal, agent: (await contract.findPayment(order.paymentReference)).agent }
      case 'refused':
        return rehearsal
      case 'float-low':
        throw new ChainUnavailable('payTo holds less than a purchase and the gas of its forward')
      case 'ready': {
        const call = { ...openPaidCall(order), gas: rehearsal.gas }
        const { receipt } = await send(encodeTransaction(requireAddress(contract), call))
        if (receipt?.status !== 'success') return undefined
        return readOpening(receipt, order, { ...options, offers })
      }
      default:
        return rehearsal satisfies never
    }
  }

  const rearm: ContractSender['rearm'] = async (agent, how) => {
    const address = requireAddress(contract)
    const call = {
      functionName: how,
      args: [agent],
      valueTinybar: 0n,
      gas: await rehearsals.armingGas(),
    }
    const revert = await findRevert(relay, { account: sender.address, address }, call)
    if (revert !== undefined) return { kind: 'left' }
    const { receipt } = await send(encodeTransaction(address, call))
    return receipt?.status === 'success' ? readRearming(receipt, address) : { kind: 'left' }
  }

  return {
    address: sender.address,
    rehearse: (order) => named(() => rehearsals.rehearse(order)),
    openPaid: (order) => named(() => untilDefinite(() => attemptOpen(order))),
    rearm: (agent, how) => named(() => rearm(agent, how)),
    async warm() {
      await Promise.allSettled([rehearsals.forwardGasNow(), balance(), sender.warm()])
    },
    floatTinybar: () => named(balance),
    forwardGasTinybar: () => named(async () => (await rehearsals.forwardGasNow()).tinybar),
    close: () => sender.close(),
  }
}

/** Finds out before a forward is sent what it costs and whether the contract accepts it. Throws the relay's errors. */
function createRehearsals(
  { clock, contract, facts, relay }: AccessContractWriterOptions,
  account: Hex,
) {
  const balance = facts.balanceTinybar(account)
  const armingGas = keptRead({
    clock,
    keptMs: ARMING_GAS_MS,
    read: async () => readArmingGas(relay, requireAddress(contract)),
  })

  /** The gas that one forward may use now, and what payTo must hold for it. */
  const forwardGasNow = async (): Promise<{ readonly gas: bigint; readonly tinybar: bigint }> => {
    const [gas, gasPrice] = await Promise.all([armingGas(), facts.gasPriceWeibar()])
    return { gas, tinybar: forwardGas(gas, offeredGasPrice(gasPrice)) }
  }

  const rehearseOnce = async (order: PurchaseOrder): Promise<Rehearsal> => {
    const between = { account, address: requireAddress(contract) }
    const [{ gas, tinybar }, balanceTinybar, trial] = await Promise.all([
      forwardGasNow(),
      balance(),
      findRevert(relay, between, openPaidCall(order)).then(
        (reason) => ({ reason }),
        (failure: unknown) => ({ failure }),
      ),
    ])
    // First: a node that checks the balance would refuse the call itself, in its own words.
    if (balanceTinybar < order.valueTinybar + tinybar) return { kind: 'float-low' }
    if ('failure' in trial) throw trial.failure
    const { reason } = trial
    if (reason === undefined) return { kind: 'ready', gas }
    if (reason === 'AccessWindow_PaymentAlreadyUsed') return { kind: 'already-used' }
    return { kind: 'refused', reason }
  }

  return {
    armingGas,
    forwardGasNow,
    /** Runs `openPaid` with its value without sending it (A3). */
    async rehearse(order: PurchaseOrder): Promise<Rehearsal> {
      const rehearsal = await rehearseOnce(order)
      if (rehearsal.kind !== 'float-low') return rehearsal
      // The balance may have been two seconds old.
      balance.forget()
      return rehearseOnce(order)
    },
  }
}

/** Tries again after a lost race or nonce; a reference that was consumed meanwhile ends it. */
async function untilDefinite<Outcome>(
  attempt: () => Promise<Outcome | undefined>,
): Promise<Outcome> {
  for (let tries = 1; tries <= OPEN_TRIES; tries += 1) {
    const outcome = await attempt()
    if (outcome !== undefined) return outcome
  }
  throw new ChainUnavailable('the forwarded purchase got no receipt')
}

function requireAddress(contract: AccessContract): Hex {
  if (contract.address === undefined) throw new ContractAbsent('no contract address is configured')
  return contract.address
}

/** Turns every failure of the ledger into one named error. */
async function named<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ChainUnavailable || error instanceof ContractAbsent) throw error
    throw new ChainUnavailable('the ledger did not take the call', { cause: error })
  }
}

/** The outcome of a `reap` or `poke`; if it left no event, a renewal was already pending. */
function readRearming(receipt: LedgerReceipt, address: Hex): RearmOutcome {
  const { transactionHash } = receipt
  for (const log of decodeContractEvents(receipt.logs, address)) {
    if (log.eventName !== 'RenewalNotArmed') continue
    return { kind: 'not-armed', transactionHash, code: Number(log.args.responseCode) }
  }
  return { kind: 'armed', transactionHash }
}

/**
 * The window after a successful `openPaid`, from its receipt's events, since reads lag behind receipts. A top-up only
 * undoes a cancellation and adds balance, so a read supplies what its event does not say.
 */
async function readOpening(
  receipt: LedgerReceipt,
  order: PurchaseOrder,
  known: Pick<AccessContractWriterOptions, 'contract' | 'clock'> & {
    readonly offers: readonly Offer[]
  },
): Promise<Extract<OpenOutcome, { kind: 'opened' }>> {
  const { clock, contract, offers } = known
  const { transactionHash } = receipt
  for (const log of decodeContractEvents(receipt.logs, requireAddress(contract))) {
    if (log.eventName === 'SubscriptionOpened') {
      const offer = offers[log.args.offerId]
      if (offer === undefined) break
      const window: AccessWindow = {
        exists: true,
        isOpen: true,
        isCancelled: false,
        // Only a read knows it; subscriptions.ts takes it from there.
        isGuarded: false,
        expiresAtSeconds: Number(log.args.expiresAt),
        periodSeconds: offer.periodSeconds,
        priceTinybar: offer.priceTinybar,
        balanceTinybar: log.args.balanceTinybar,
        // Its own periods always fit (A26); a read shows whether others do.
        periodsFunded: Number(order.valueTinybar / offer.priceTinybar) - 1,
        callsUsed: order.calls,
        callsAllowed: offer.callsAllowed,
        schedule: withoutChecksum(log.args.schedule),
        scheduledAtSeconds: Number(log.args.scheduledAt),
        slotId: log.args.slotId,
      }
      return { kind: 'opened', transactionHash, isTopUp: false, window }
    }
    if (log.eventName === 'SubscriptionToppedUp') {
      const { balanceTinybar } = log.args
      const nowSeconds = ledgerSeconds(clock)
      const read = await contract.readWindow(order.agent, nowSeconds)
      const periodsFunded = Math.min(
        Number(balanceTinybar / read.priceTinybar),
        Math.max(periodsInReach(read, nowSeconds), read.periodsFunded),
      )
      const window = { ...read, isCancelled: false, balanceTinybar, periodsFunded }
      return { kind: 'opened', transactionHash, isTopUp: true, window }
    }
  }
  throw new ChainUnavailable('the receipt of a purchase does not say what it opened')
}

function openPaidCall({ valueTinybar, paidAtSeconds, ...order }: PurchaseOrder) {
  const purchase = { ...order, paidAtSeconds: BigInt(paidAtSeconds) }
  return { functionName: 'openPaid', args: [purchase], valueTinybar }
}

/** Gas of one forward at a price, tinybar: what must be held, not what is charged. */
export function forwardGas(gas: bigint, gasPriceWeibar: bigint): bigint {
  return (gas * gasPriceWeibar) / WEIBAR_PER_TINYBAR
}
