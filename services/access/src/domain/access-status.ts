import type { Status } from '../wire/access-answers.ts'
import { type AccessContract, ContractAbsent, type Offer } from './access-contract.ts'
import type { AccessParts } from './access-parts.ts'
import { callIn, type Hex, subscriptionBody, usageBody } from './access-window.ts'
import { endedAccess } from './ended-access.ts'

/**
 * The answer of `/status`. It reads the window and, at the same time, the reserve, whose read may fail (A12), and what is on
 * sale for whose window has closed (A27). It writes nothing. Throws ChainUnavailable or ContractAbsent.
 */
export async function readStatus(
  deps: Pick<AccessParts, 'contract' | 'subscriptions' | 'usage' | 'periodsPerPurchase'>,
  agent: Hex,
): Promise<Status> {
  const { contract, subscriptions, usage } = deps
  if (contract.address === undefined) throw new ContractAbsent('no contract address is configured')
  await contract.ensureDeployed()
  const [{ window: read, atSeconds: nowSeconds }, reserve] = await Promise.all([
    subscriptions.readForPoll(agent),
    contract.renewalsReserveCanArm().catch(() => undefined),
  ])
  const call = callIn(agent, read)
  const window = { ...read, callsUsed: usage.callsUsed(call) }
  const isClosed = window.exists && !window.isOpen
  const sale = isClosed ? await readSale(contract).catch(() => null) : undefined
  const now = { ...deps, nowSeconds, callsRemaining: usage.callsRemaining(call) }
  const { active, ...subscription } = subscriptionBody(window, nowSeconds)
  return {
    agent,
    contract: contract.address,
    hasAccess: window.isOpen,
    ...subscription,
    pricePerPeriodTinybar: window.priceTinybar.toString(),
    periodsFunded: window.periodsFunded,
    active,
    renewalsReserveCanArm: reserve ?? null,
    usage: usageBody(window),
    ended: sale === null ? null : endedAccess(window, { ...now, offer: sale }),
    unavailable: [
      ...(reserve === undefined ? ['renewalsReserveCanArm'] : []),
      ...(sale === null ? ['ended'] : []),
    ],
    now: nowSeconds,
  }
}

async function readSale(contract: AccessContract): Promise<Offer | undefined> {
  const [offers, arePaused] = await Promise.all([contract.offers(), contract.areSalesPaused()])
  return arePaused ? undefined : offers.at(-1)
}
