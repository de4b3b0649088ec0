import type { PaidResource, PaymentRequirement } from '../payment.ts'
import type { PaymentEnvelope } from './payment-headers.ts'

const CORE_FIELDS = ['scheme', 'network', 'amount', 'asset', 'payTo', 'maxTimeoutSeconds'] as const

/** Our own requirement that a client's `accepted` names, or undefined (X3). */
export function matchRequirement(
  accepted: PaymentEnvelope['accepted'],
  requirements: readonly PaymentRequirement[],
): PaymentRequirement | undefined {
  return requirements.find((requirement) => acceptsRequirement(accepted, requirement))
}

/**
 * Whether what a payer accepted is this requirement (X3). The six core fields must be equal and our `extra` keys carried
 * back unchanged; every other key is ignored, so that clients which strip or echo `price` both pay.
 */
export function acceptsRequirement(
  accepted: PaymentEnvelope['accepted'],
  requirement: PaymentRequirement,
): boolean {
  return (
    CORE_FIELDS.every((field) => accepted[field] === requirement[field]) &&
    Object.entries(requirement.extra).every(
      ([key, value]) =>
        Object.hasOwn(accepted.extra ?? {}, key) && isSameJson(accepted.extra?.[key], value),
    )
  )
}

/** Whether the resource that a client's payload names, where it names one, is the one on sale: the paths are equal. */
export function isForResource(named: PaymentEnvelope['resource'], resource: PaidResource): boolean {
  if (named === undefined || named === null) return true
  const path = pathOf(named.url)
  return path !== undefined && path === pathOf(resource.url)
}

function pathOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).pathname : undefined
}

function isSameJson(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) {
    return false
  }
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const leftEntries = Object.entries(left)
  return (
    leftEntries.length === Object.keys(right).length &&
    leftEntries.every(
      ([key, value]) =>
        Object.hasOwn(right, key) && isSameJson(value, (right as Record<string, unknown>)[key]),
    )
  )
}
