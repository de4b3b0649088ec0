// A seller signed this about a purchase (X18): its offer and its receipt, checked against the host called and passed on to
// be kept. A purchase is valid without them: they are evidence for a dispute, not a condition.
import {
  type Clock,
  createReceiptVerifier,
  type OfferStatement,
  type ReceiptStatement,
  type StatementVerdict,
} from '@tallystick/x402'
import { decodePaymentResponseHeader } from '@x402/fetch'
import type { AnsweredExchange } from './paid-request.ts'

/** A purchase, and what its seller signed about it. */
export type PurchaseEvidence = {
  /** Unix seconds. */
  readonly atSeconds: number
  readonly url: string
  /** Base units of the asset, `0.0.0` for HBAR. */
  readonly amount: bigint
  readonly asset: string
  readonly payTo: string
  /** Id of the transfer. */
  readonly transaction: string
  /** The name of the paid request, if the seller takes names (X17). */
  readonly identifier: string | undefined
  /** The seller asked for this. */
  readonly offer: StatementVerdict<OfferStatement>
  /** The seller's statement that it served this payer for this transfer. */
  readonly receipt: StatementVerdict<ReceiptStatement>
}

type EvidenceReader = (
  exchange: AnsweredExchange,
  url: string,
) => Promise<PurchaseEvidence | undefined>

/** Reads the evidence of paid exchanges and hands it to `keep`; undefined for one that signed nothing. */
export function createEvidenceReader(options: {
  readonly clock: Clock
  readonly signer?: { readonly evmAddress: string } | undefined
  readonly keep?: ((evidence: PurchaseEvidence) => void) | undefined
}): EvidenceReader {
  const { clock, keep, signer } = options
  const verifier = createReceiptVerifier({ clock })
  return async ({ challenge, payment, response }, url) => {
    if (payment === undefined) return undefined
    const { accepted, amount, identifier, payer, payTo, transaction } = payment
    // A receipt may name the payer by its account or by its address.
    const payers = [payer, signer?.evmAddress ?? payer]
    const own = { calledUrl: url, network: accepted.network, payers, transaction }
    const evidence = {
      atSeconds: Math.floor(clock.unixMs() / 1_000),
      url,
      amount,
      asset: accepted.asset,
      payTo,
      transaction,
      identifier,
      offer: await verifier.offer(challenge, { accepted, calledUrl: url }),
      receipt: await verifier.receipt(readSettlement(response), own),
    }
    keep?.(evidence)
    return evidence
  }
}

function readSettlement(response: Response): unknown {
  try {
    return decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
  } catch {
    return undefined
  }
}
