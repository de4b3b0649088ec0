import type { Clock } from '@tallystick/service-kit'
import {
  createMemoryReservationStore,
  createPaymentGate,
  type Facilitator,
  type GateEvent,
  type PaymentGate,
  type PaymentScheme,
} from '@tallystick/x402'
import type { ReportAccessEvent } from './domain/access-event.ts'
import type { Hex } from './domain/access-window.ts'
import { type CallAccess, createCallAccess } from './domain/call-access.ts'
import { type CreditSweep, createCreditSweep } from './domain/credit-sweep.ts'
import type {
  AccessContract,
  ContractSender,
  PaidResourceReader,
  PaymentLog,
} from './domain/ports.ts'
import { createReaper } from './domain/reaper.ts'
import { createSalesTerms, type SalesTerms } from './domain/sales-terms.ts'
import { createSubscriptions } from './domain/subscriptions.ts'
import type { UsageRecorder } from './domain/usage-recorder.ts'

/** What the service reaches the world through; tests put fakes in their place. */
export type AccessPorts = {
  readonly contract: AccessContract
  readonly sender: ContractSender
  readonly log: PaymentLog
  readonly usage: UsageRecorder
  readonly resource: PaidResourceReader
  readonly scheme: PaymentScheme
  readonly facilitator: Facilitator
  /** Fee payers of the network, the preferred one first. */
  readonly feePayers: () => Promise<readonly string[]>
  readonly clock: Clock
  readonly report: ReportAccessEvent
  readonly observeGate?: (event: GateEvent) => void
}

export type AccessSettings = {
  readonly network: string
  readonly payTo: string
  readonly periodsPerPurchase: number
  /** Public address of the paid resource. */
  readonly resourceUrl: string
  readonly paymentReference: (transactionId: string) => Hex
}

/** Payments under way get this long once the process is told to stop; then their requests are answered as pending. */
const STOP_SELLING_MS = 4_000

/** What runs after the last request gets this long: both together end inside the 10 s of S6, and the next process finds the rest. */
const CLOSE_MS = 5_400

function atMost(clock: Clock, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(CLOSE_MS, resolve)
    work.then(resolve, reject).finally(cancel)
  })
}

/** The service's parts, connected; nothing runs until `start`. */
export type AccessCore = {
  readonly callAccess: CallAccess
  readonly gate: PaymentGate
  readonly sweep: CreditSweep
  readonly terms: SalesTerms
  start(): void
  /** Ends what requests may wait long for, so that they are answered before the process has to go. */
  stopSelling(): Promise<void>
  close(): Promise<void>
}

export function createAccessCore(ports: AccessPorts, settings: AccessSettings): AccessCore {
  const { clock, contract, sender } = ports
  const subscriptions = createSubscriptions({ contract, clock })
  const reservations = createMemoryReservationStore({ clock })
  const gate = createPaymentGate({
    schemes: [ports.scheme],
    facilitator: ports.facilitator,
    reservations,
    clock,
    limits: { closeWaitMs: STOP_SELLING_MS },
    ...(ports.observeGate === undefined ? {} : { observe: ports.observeGate }),
  })
  const sweep = createCreditSweep({
    ...ports,
    subscriptions,
    periodsPerPurchase: settings.periodsPerPurchase,
    isHeld: async (transactionId) => {
      const reservation = await reservations.get(`${settings.network}/${transactionId}`)
      return reservation !== undefined && reservation.state !== 'answered'
    },
  })
  const reaper = createReaper(ports)
  const terms = createSalesTerms({
    contract,
    clock,
    feePayers: ports.feePayers,
    network: settings.network,
    payTo: settings.payTo,
    periodsPerPurchase: settings.periodsPerPurchase,
    resourceUrl: settings.resourceUrl,
  })
  const callAccess = createCallAccess({
    ...ports,
    ...settings,
    subscriptions,
    gate,
    sweep,
    reaper,
    terms,
    isPaymentPending: (agent) => gate.isPending(agent),
    hasLanded: async (payment) => (await ports.scheme.find(payment)).kind === 'landed',
  })
  return {
    callAccess,
    gate,
    sweep,
    terms,
    start: () => sweep.start(),
    stopSelling: () => gate.close(),
    async close() {
      const closing = Promise.all([
        sweep.close(),
        gate.close(),
        reaper.close(),
        ports.usage.close(),
      ])
      await atMost(
        clock,
        closing.then(() => sender.close()),
      )
    },
  }
}
