// Payment headers, signed ahead of a run so that signing is not measured.
import { ExactEvmClient, evmSigner } from '@tallystick/x402/evm'
import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import type { PaymentRequired, SchemeNetworkClient } from '@x402/core/types'
import type { FundedAccount } from './server/payment-network-facts.ts'

/** What a route demands, from its own 402. */
export async function readOffer(url: URL): Promise<PaymentRequired> {
  const answer = await fetch(url)
  const header = answer.headers.get('payment-required')
  if (answer.status !== 402 || header === null) throw new Error(`no challenge: ${answer.status}`)
  return JSON.parse(Buffer.from(header, 'base64').toString()) as PaymentRequired
}

async function sign(client: SchemeNetworkClient, offer: PaymentRequired): Promise<string> {
  const [accepted] = offer.accepts
  if (accepted === undefined) throw new Error('the challenge offers nothing')
  const { payload } = await client.createPaymentPayload(2, accepted)
  const envelope = { x402Version: 2, payload, accepted, resource: offer.resource }
  return Buffer.from(JSON.stringify(envelope)).toString('base64')
}

/** A payment of that offer in dollars, as `PAYMENT-SIGNATURE` carries it. */
export function signDollars(offer: PaymentRequired, privateKey: string): Promise<string> {
  return sign(new ExactEvmClient({ signer: evmSigner({ privateKey }) }), offer)
}

/** A payment in HBAR that names its agent. */
export function signHbar(
  offer: PaymentRequired,
  { agent, payer }: { readonly agent: string; readonly payer: FundedAccount },
): Promise<string> {
  const client = new ExactHederaClient({ signer: hederaSigner(payer), memo: `x402:${agent}` })
  return sign(client, offer)
}
