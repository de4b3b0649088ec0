/**
 * x402's extension `payment-identifier` (X17): a client's own name for its request, inside the payment. It maps onto the
 * record of `Idempotency-Key`, scoped to payer and route, so one request is never paid for twice under its name.
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'

/** The extension's key. */
export const PAYMENT_IDENTIFIER = 'payment-identifier'

/** A challenge declares that a name is welcome, not required. No schema, since clients echo all of it in a header. */
export const PAYMENT_IDENTIFIER_OFFER = { info: { required: false } } as const

const identifier = z.string().regex(/^[a-zA-Z0-9_-]{16,128}$/)
const echo = z.object({ info: z.object({ id: identifier.optional() }) })

type Extensions = Readonly<Record<string, unknown>>

/** The name that a payment carries, if any. Never throws. */
export function readPaymentIdentifier(
  extensions: Extensions | null | undefined,
): { readonly kind: 'absent' | 'invalid' } | { readonly kind: 'named'; readonly id: string } {
  const sent = extensions?.[PAYMENT_IDENTIFIER]
  if (sent === undefined) return { kind: 'absent' }
  const { data } = echo.safeParse(sent)
  if (data === undefined) return { kind: 'invalid' }
  const { id } = data.info
  return id === undefined ? { kind: 'absent' } : { kind: 'named', id }
}

/** The idempotency key of a name on one route. Its spaces keep it apart from every `Idempotency-Key`, which has none. */
export function identifierKey(id: string, resourceUrl: string): string {
  return `${PAYMENT_IDENTIFIER} ${URL.parse(resourceUrl)?.pathname ?? resourceUrl} ${id}`
}

const declared = z.object({ info: z.looseObject({ required: z.boolean() }) })

/**
 * The client's side: names a payment in the extensions of its challenge, in place, if the seller takes names. The default
 * is a new name, `pay_` and 32 hex digits, as official clients make them. Returns the name, or undefined if the seller takes
 * none. Throws RangeError for a name that is not 16 to 128 of `[a-zA-Z0-9_-]`.
 *
 * @example
 * client.onBeforePaymentCreation(async ({ paymentRequired }) => {
 *   namePayment(paymentRequired.extensions, 'order-2026-11-22-0001')
 * })
 */
export function namePayment(
  extensions: Record<string, unknown> | undefined,
  id: string = `pay_${randomBytes(16).toString('hex')}`,
): string | undefined {
  const parsed = declared.safeParse(extensions?.[PAYMENT_IDENTIFIER])
  if (extensions === undefined || !parsed.success) return undefined
  if (!identifier.safeParse(id).success)
    throw new RangeError('a payment identifier is 16 to 128 letters, digits, - or _')
  const { info, ...rest } = parsed.data
  extensions[PAYMENT_IDENTIFIER] = { ...rest, info: { ...info, id } }
  return id
}
