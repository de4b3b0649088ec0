import type { PaymentTerms } from '../gate/challenge.ts'
import type { PaymentRequirement, VerifiedPayment } from '../payment.ts'
import type { HederaStandIn } from './hedera-stand-in.fixture.ts'

/** A payment header's JSON. */
type EnvelopeJson = {
  readonly payload: Record<string, unknown>
  readonly accepted: Record<string, unknown>
}

export function decodeHeader(header: string): EnvelopeJson {
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as EnvelopeJson
}

export function encodeHeader(envelope: object): string {
  return Buffer.from(JSON.stringify(envelope)).toString('base64')
}

/** The first of the terms' offers. */
export function firstRequirement(terms: PaymentTerms): PaymentRequirement {
  const [requirement] = terms.requirements
  if (requirement === undefined) throw new Error('no requirement')
  return requirement
}

/** The payment that a header for the stand-in's offer carries, ignoring its time. */
export async function makePayment(
  ledger: HederaStandIn,
  { header, terms }: { readonly header: string; readonly terms: PaymentTerms },
): Promise<VerifiedPayment> {
  const verified = await ledger.scheme.verify(decodeHeader(header).payload, firstRequirement(terms))
  if (verified.kind === 'refused') throw new Error(verified.reason)
  return verified.payment
}
