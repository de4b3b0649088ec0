import type { Status } from '../wire/access-answers.ts'
import { ContractAbsent } from './access-contract.ts'
import type { AccessParts } from './access-parts.ts'
import { callIn, type Hex, subscriptionBody, usageBody } from './access-window.ts'

/**
 * The answer of `/status`. It reads the window and, at the same time, the reserve, whose read may fail (A12). It writes
 * nothing. Throws ChainUnavailable or ContractAbsent.
 */
export async function readStatus(
  deps: Pick<AccessParts, 'contract' | 'subscriptions' | 'usage'>,
  agent: Hex,
): Promise<Status> {
  const { contract, subscriptions, usage } = deps
  if (contract.address === undefined) throw new ContractAbsent('no contract address is configured')
  await contract.ensureDeployed()
  const [{ window: read, atSeconds: nowSeconds }, reserve] = await Promise.all([
    subscriptions.readForPoll(agent),
    contract.renewalsReserveCanArm().catch(() => undefined),
  ])
  const window = { ...read, callsUsed: usage.callsUsed(callIn(agent, read)) }
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
    unavailable: reserve === undefined ? ['renewalsReserveCanArm'] : [],
    now: nowSeconds,
  }
}
