/** The domain's parts put together: what sells, what serves, and what watches the seller's money. service.ts connects its ports. */
import {
  createMemoryReservationStore,
  createPaymentGate,
  type ReceiptIssuer,
  timedScheme,
} from '@tallystick/x402'
import { type AccessConfig, alertLimits } from './config.ts'
import type { AccessParts } from './domain/access-parts.ts'
import { type AgentGuardDeps, createAgentGuard } from './domain/agent-guard.ts'
import { createEventReader, type EventsRead } from './domain/agent-history.ts'
import { createAgentHolder } from './domain/agent-holder.ts'
import { createAlertTeller } from './domain/alert-teller.ts'
import { type CallAccessDeps, createCallAccess } from './domain/call-access.ts'
import { createCreditSweep } from './domain/credit-sweep.ts'
import type { LedgerClock } from './domain/ledger-clock.ts'
import { createReaper } from './domain/reaper.ts'
import { createRecorderCount, type RecorderCount } from './domain/recorder-count.ts'
import { createSalesStops } from './domain/sales-stops.ts'
import { createSalesTerms } from './domain/sales-terms.ts'
import { createSellerAccount } from './domain/seller-account.ts'
import { createSellerAlerts, readSellerFigures } from './domain/seller-alerts.ts'
import { createSellerWindows } from './domain/seller-windows.ts'
import { createSubscriptions, type Subscriptions } from './domain/subscriptions.ts'
import type { Telemetry } from './telemetry.ts'

/** At the signal to stop, payments in flight get this long, milliseconds; then their requests are answered as pending. */
const STOP_SELLING_MS = 4_000

type DomainParts = Omit<AccessParts, 'subscriptions'> &
  Pick<CallAccessDeps, 'agentRate' | 'addressRate'> &
  Pick<AgentGuardDeps, 'baseUrl' | 'evmChainId' | 'sessions'> & { readonly accessUrl: string }

/** Tells of alerts for all processes; without a contract there is nobody to compare with. */
function tellerOfMany({
  sellerHistory: history,
  alertWebhook: webhook,
  ...parts
}: DomainParts & Pick<RecorderCount, 'readRecorders'>) {
  const isAlone = history === undefined || webhook === undefined
  return isAlone ? webhook : createAlertTeller({ ...parts, history, webhook })
}

const composeAlerts = (ports: DomainParts, config: AccessConfig) =>
  createSellerAlerts({
    ...ports,
    limits: alertLimits(config),
    readFigures: () => readSellerFigures(ports),
    spentTinybar: () => BigInt(ports.usage.figures().costTinybarTotal),
    webhook: ports.alertWebhook,
  })

/** Without a contract nothing is known of any agent. */
function composeEvents(
  { agentHistory: history, clock }: DomainParts,
  { known }: Pick<Subscriptions, 'known'>,
): ReturnType<typeof createEventReader> {
  if (history !== undefined) return createEventReader({ history, clock, knownWindow: known })
  return async (): Promise<EventsRead> => ({ kind: 'unread' })
}

function composeWindows(
  { sellerHistory: history, ...ports }: DomainParts,
  account: ReturnType<typeof createSellerAccount> | undefined,
): ReturnType<typeof createSellerWindows> {
  const recorders = () => account?.latest()?.recorders
  return history === undefined
    ? async () => undefined
    : createSellerWindows({ ...ports, history, recorders })
}

/** Everything that decides, over ports that are connected. */
export function composeDomain(
  ports: DomainParts,
  options: {
    readonly config: AccessConfig
    readonly telemetry: Pick<Telemetry, 'observeGate' | 'verified'>
    readonly ledgerClock: LedgerClock
    /** Signs what was paid for (X18). */
    readonly receipts: ReceiptIssuer
  },
) {
  const { config, ledgerClock, receipts } = options
  const { observeGate, verified } = options.telemetry
  const { clock, network } = ports
  const subscriptions = createSubscriptions(ports)
  const parts = {
    ...ports,
    scheme: timedScheme(ports.scheme, { nowMs: () => performance.now(), hear: verified }),
    subscriptions,
  }
  const { sellerHistory: history } = ports
  const account = history && createSellerAccount({ ...ports, history })
  const readEvents = composeEvents(ports, subscriptions)
  const readSellerWindows = composeWindows(ports, account)
  const { RECORDER_COUNT: recorderCount } = config
  const recorders = createRecorderCount({ ...ports, history, recorderCount })
  const { readRecorders } = recorders
  const webhook = recorderCount > 1 ? tellerOfMany({ ...ports, readRecorders }) : ports.alertWebhook
  const alerts = composeAlerts({ ...ports, alertWebhook: webhook }, config)
  const reservations = createMemoryReservationStore({ clock })
  const gate = createPaymentGate({
    schemes: [parts.scheme],
    facilitator: parts.facilitator,
    // Anyone may ask for a challenge, so it carries no offers: signing each would cost more than the rest of it.
    receipts: { withReceipt: (...served) => receipts.withReceipt(...served) },
    reservations,
    clock,
    limits: { closeWaitMs: STOP_SELLING_MS },
    observe: observeGate,
  })
  const sweep = createCreditSweep({
    ...parts,
    ledgerTime: () => ledgerClock.compare(() => parts.log.ledgerTime()),
    isHeld: async (transactionId) => {
      const reservation = await reservations.get(`${network}/${transactionId}`)
      return reservation !== undefined && reservation.state !== 'answered'
    },
  })
  const stops = createSalesStops({
    ...parts,
    ledgerClock,
    spentPerHour: () => alerts.spentPerHour(),
    otherSales: () => sweep.otherSales(),
  })
  const reaper = createReaper(parts)
  const terms = createSalesTerms(parts, ports.accessUrl)
  const callAccess = createCallAccess({
    ...parts,
    gate,
    sweep,
    reaper,
    stops,
    terms,
    guard: createAgentGuard({ ...ports, terms }),
    holder: createAgentHolder(ports),
  })
  const sales = { callAccess, gate, stops, terms }
  const pages = { readEvents, readSellerWindows }
  return { ...sales, ...pages, account, alerts, reaper, recorders, subscriptions, sweep }
}
