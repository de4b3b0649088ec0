/**
 * The buyer's side of x402's extension `offer-receipt` (X18): finds what a seller signed and checks that exactly the host
 * called signed it. Only JWS with Ed25519 and did:web are read; other forms are `unreadable`.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { type Clock, systemClock } from '../clock.ts'
import { fetchJson } from '../http-json.ts'
import {
  ANSWER_STATEMENT,
  type AnswerStatement,
  answerSchema,
  didDocumentUrl,
  didFromUrl,
  isSignedBy,
  OFFER_RECEIPT,
  type OfferStatement,
  offerSchema,
  type ReceiptStatement,
  readStatement,
  receiptSchema,
  statementJwk,
} from './signed-statement.ts'

/** Why a statement proves nothing. */
export type UnprovenReason =
  | 'unreadable'
  /** Its key belongs to a host other than the one called. */
  | 'another_host'
  /** The host's document could not be read; the statement may be right. */
  | 'key_unreachable'
  | 'key_unknown'
  | 'signature_invalid'
  /** It is about another resource, price, payer, payment or time. */
  | 'contradicts'

export type StatementVerdict<Statement> =
  | { readonly kind: 'absent' }
  | { readonly kind: 'proven'; readonly jws: string; readonly statement: Statement }
  | { readonly kind: 'unproven'; readonly jws: string; readonly reason: UnprovenReason }

type Accepted = Pick<OfferStatement, 'scheme' | 'network' | 'asset' | 'payTo' | 'amount'>

/** A buyer knows this of its own payment. */
type OwnPayment = {
  /** The address that was called; its host must have signed. */
  readonly calledUrl: string
  readonly network: string
  /** The payer's names: an account id, an EVM address. */
  readonly payers: readonly string[]
  /** Transaction id or hash, if the buyer knows it. */
  readonly transaction?: string | undefined
}

/** How long a document is kept; for a key it lacks, it is read again at once. */
const DOCUMENT_KEPT_MS = 3_600_000
const DOCUMENT_TIMEOUT_MS = 5_000
/** Room for hundreds of keys. */
const DOCUMENT_BYTES_MAX = 65_536
/** Hosts whose documents are kept. */
const DOCUMENTS_MAX = 100
/** How far a seller's clock may differ. */
const SKEW_SECONDS = 300
/** A kept answer is delivered with its receipt for a day. */
const RECEIPT_AGE_SECONDS_MAX = 90_000

const signed = z.object({ format: z.string(), signature: z.string() })
/** Finds what a message carries in its extension `key`. */
const carrying = <Info extends z.ZodType>(key: string, info: Info) =>
  z
    .object({ extensions: z.record(z.string(), z.unknown()) })
    .transform(({ extensions }) => extensions[key])
    .pipe(z.object({ info }))
const challengeSchema = carrying(OFFER_RECEIPT, z.object({ offers: z.array(signed).max(64) }))
const settlementSchema = carrying(OFFER_RECEIPT, z.object({ receipt: signed }))
const answeredSchema = carrying(ANSWER_STATEMENT, z.object({ statement: signed }))
const documentSchema = z.object({
  verificationMethod: z.array(
    z.object({ id: z.string(), publicKeyJwk: statementJwk.optional().catch(undefined) }),
  ),
})
type DidDocument = z.infer<typeof documentSchema>

const isSameResource = (left: string, right: string): boolean => {
  const [first, other] = [URL.parse(left), URL.parse(right)]
  return first !== null && first.host === other?.host && first.pathname === other.pathname
}

/** Documents by address, each read once an hour, or earlier for a key it lacks. */
function createDidDocuments(clock: Clock) {
  const documents = new Map<string, { readonly document: DidDocument; readonly untilMs: number }>()
  return async (url: string, kid: string): Promise<DidDocument | undefined> => {
    const known = documents.get(url)
    const hasKey = known?.document.verificationMethod.some(({ id }) => id === kid) === true
    if (known !== undefined && hasKey && clock.unixMs() < known.untilMs) return known.document
    const limits = { timeoutMs: DOCUMENT_TIMEOUT_MS, bytesMax: DOCUMENT_BYTES_MAX }
    const answer = await fetchJson({ url, clock, ...limits })
    if (answer.kind !== 'answered' || answer.status !== 200) return undefined
    const { data } = documentSchema.safeParse(answer.json)
    if (data === undefined) return undefined
    const [oldest] = documents.keys()
    if (documents.size >= DOCUMENTS_MAX && oldest !== undefined) documents.delete(oldest)
    documents.set(url, { document: data, untilMs: clock.unixMs() + DOCUMENT_KEPT_MS })
    return data
  }
}

type AskedOffer = { readonly accepted: Accepted; readonly calledUrl: string }

function isOfferFor(
  offer: OfferStatement,
  { accepted, calledUrl }: AskedOffer,
  nowSeconds: number,
): boolean {
  const isSame = (['scheme', 'network', 'asset', 'payTo', 'amount'] as const).every(
    (field) => offer[field] === accepted[field],
  )
  const isOver = (offer.validUntil ?? Number.POSITIVE_INFINITY) < nowSeconds
  return isSame && !isOver && isSameResource(offer.resourceUrl, calledUrl)
}

function isReceiptFor(receipt: ReceiptStatement, own: OwnPayment, nowSeconds: number): boolean {
  const { issuedAt, network, payer, resourceUrl, transaction } = receipt
  const ageSeconds = nowSeconds - issuedAt
  const isOwn =
    network === own.network &&
    own.payers.some((name) => name.toLowerCase() === payer.toLowerCase()) &&
    isSameResource(resourceUrl, own.calledUrl) &&
    (own.transaction === undefined || transaction === own.transaction)
  return isOwn && ageSeconds > -SKEW_SECONDS && ageSeconds < RECEIPT_AGE_SECONDS_MAX
}

/** Checks offers and receipts; reads each host's document once an hour. */
export function createReceiptVerifier({ clock = systemClock }: { readonly clock?: Clock } = {}) {
  const documentAt = createDidDocuments(clock)

  /** Judges a statement's content, then whether the host of `calledUrl` signed it. */
  async function prove<Statement>(
    jws: string | undefined,
    calledUrl: string,
    expected: {
      readonly schema: z.ZodType<Statement>
      readonly isAbout: (statement: Statement, nowSeconds: number) => boolean
    },
  ): Promise<StatementVerdict<Statement>> {
    if (jws === undefined) return { kind: 'absent' }
    const unproven = (reason: UnprovenReason) => ({ kind: 'unproven', jws, reason }) as const
    const read = readStatement(jws)
    if (read === undefined || read.alg !== 'EdDSA') return unproven('unreadable')
    if (!read.kid.startsWith(`${didFromUrl(calledUrl)}#`)) return unproven('another_host')
    const { data: statement } = expected.schema.safeParse(read.statement)
    if (statement === undefined) return unproven('unreadable')
    if (!expected.isAbout(statement, clock.unixMs() / 1_000)) return unproven('contradicts')
    const document = await documentAt(didDocumentUrl(calledUrl), read.kid)
    if (document === undefined) return unproven('key_unreachable')
    const method = document.verificationMethod.find(({ id }) => id === read.kid)
    if (method?.publicKeyJwk === undefined) return unproven('key_unknown')
    if (!isSignedBy(read, method.publicKeyJwk)) return unproven('signature_invalid')
    return { kind: 'proven', jws, statement }
  }

  return {
    /** The signed offer of what was accepted, from a challenge's JSON. Never throws. */
    async offer(challenge: unknown, wanted: AskedOffer): Promise<StatementVerdict<OfferStatement>> {
      const offers = challengeSchema.safeParse(challenge).data?.info.offers ?? []
      let verdict: StatementVerdict<OfferStatement> = { kind: 'absent' }
      for (const { signature } of offers) {
        verdict = await prove(signature, wanted.calledUrl, {
          schema: offerSchema,
          isAbout: (offer, nowSeconds) => isOfferFor(offer, wanted, nowSeconds),
        })
        if (verdict.kind === 'proven') return verdict
      }
      return verdict
    },
    /** The receipt in a settlement: the decoded `PAYMENT-RESPONSE`. Never throws. */
    receipt(settlement: unknown, own: OwnPayment): Promise<StatementVerdict<ReceiptStatement>> {
      const jws = settlementSchema.safeParse(settlement).data?.info.receipt.signature
      return prove(jws, own.calledUrl, {
        schema: receiptSchema,
        isAbout: (receipt, nowSeconds) => isReceiptFor(receipt, own, nowSeconds),
      })
    },
    /** Our own statement beside a receipt: that `answerText`, the body as received, was the answer. Never throws. */
    answer(
      settlement: unknown,
      own: OwnPayment & { readonly answerText: string },
    ): Promise<StatementVerdict<AnswerStatement>> {
      const jws = answeredSchema.safeParse(settlement).data?.info.statement.signature
      return prove(jws, own.calledUrl, {
        schema: answerSchema,
        // The statement is a receipt with one more member.
        isAbout: (answer, nowSeconds) =>
          isReceiptFor(answer, own, nowSeconds) &&
          answer.answerSha256 === hash('sha256', own.answerText),
      })
    },
  }
}
