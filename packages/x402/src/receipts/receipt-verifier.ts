/**
 * The buyer's side of x402's extension `offer-receipt` (X18): finds what a seller signed and checks that exactly the host
 * called signed it. Only JWS with Ed25519 and did:web are read; other forms are `unreadable`.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { fetchJson } from '../http-json.ts'
import {
  ANSWER_STATEMENT,
  type AnswerStatement,
  answerSchema,
  didDocumentUrl,
  didOf,
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

/** What a buyer knows of its own payment. */
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
const challengeSchema = z.object({
  extensions: z
    .object({ [OFFER_RECEIPT]: z.object({ info: z.object({ offers: z.array(signed).max(64) }) }) })
    .optional(),
})
const settlementSchema = z.object({
  extensions: z
    .object({ [OFFER_RECEIPT]: z.object({ info: z.object({ receipt: signed }) }) })
    .optional(),
})
const answeredSchema = z.object({
  extensions: z
    .object({ [ANSWER_STATEMENT]: z.object({ info: z.object({ statement: signed }) }) })
    .optional(),
})
const documentSchema = z.object({
  verificationMethod: z.array(
    z.object({ id: z.string(), publicKeyJwk: statementJwk.optional().catch(undefined) }),
  ),
})
type DidDocument = z.infer<typeof documentSchema>

const isSameResource = (left: string, right: string): boolean => {
  const [one, other] = [URL.parse(left), URL.parse(right)]
  return one !== null && one.host === other?.host && one.pathname === other.pathname
}

/** A statement that proves its content if its host signed it, or why it cannot. */
type Judged<Statement> = { readonly statement: Statement } | 'unreadable' | 'contradicts'

/** Documents by address, each read once an hour, or earlier for a key it lacks. */
function createDidDocuments(clock: Clock) {
  const documents = new Map<string, { readonly document: DidDocument; readonly untilMs: number }>()
  return async (url: string, kid: string): Promise<DidDocument | undefined> => {
    const kept = documents.get(url)
    const hasKey = kept?.document.verificationMethod.some(({ id }) => id === kid) === true
    if (kept !== undefined && hasKey && clock.unixMs() < kept.untilMs) return kept.document
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

function judgeOffer(
  statement: unknown,
  { accepted, calledUrl, nowSeconds }: AskedOffer & { readonly nowSeconds: number },
): Judged<OfferStatement> {
  const offer = offerSchema.safeParse(statement).data
  if (offer === undefined) return 'unreadable'
  const isSame = (['scheme', 'network', 'asset', 'payTo', 'amount'] as const).every(
    (field) => offer[field] === accepted[field],
  )
  const isOver = (offer.validUntil ?? Number.POSITIVE_INFINITY) < nowSeconds
  return isSame && !isOver && isSameResource(offer.resourceUrl, calledUrl)
    ? { statement: offer }
    : 'contradicts'
}

type JudgedPayment = OwnPayment & { readonly nowSeconds: number }

function judgeReceipt(statement: unknown, own: JudgedPayment): Judged<ReceiptStatement> {
  const receipt = receiptSchema.safeParse(statement).data
  if (receipt === undefined) return 'unreadable'
  const { issuedAt, network, payer, resourceUrl, transaction } = receipt
  const ageSeconds = own.nowSeconds - issuedAt
  const isOwn =
    network === own.network &&
    own.payers.some((name) => name.toLowerCase() === payer.toLowerCase()) &&
    isSameResource(resourceUrl, own.calledUrl) &&
    (own.transaction === undefined || transaction === own.transaction)
  const isRecent = ageSeconds > -SKEW_SECONDS && ageSeconds < RECEIPT_AGE_SECONDS_MAX
  return isOwn && isRecent ? { statement: receipt } : 'contradicts'
}

/** The statement is a receipt with one more member. */
function judgeAnswer(
  statement: unknown,
  own: JudgedPayment & { readonly answerText: string },
): Judged<AnswerStatement> {
  const answer = answerSchema.safeParse(statement).data
  if (answer === undefined) return 'unreadable'
  const receipt = judgeReceipt(statement, own)
  if (typeof receipt === 'string') return receipt
  return answer.answerSha256 === hash('sha256', own.answerText)
    ? { statement: answer }
    : 'contradicts'
}

/** Checks offers and receipts; reads each host's document once an hour. */
export function createReceiptVerifier({ clock }: { readonly clock: Clock }) {
  const documentAt = createDidDocuments(clock)
  const nowSeconds = (): number => clock.unixMs() / 1_000

  /** Judges a statement's content, then whether the host of `calledUrl` signed it. */
  async function prove<Statement>(
    jws: string,
    calledUrl: string,
    judge: (statement: unknown) => Judged<Statement>,
  ): Promise<StatementVerdict<Statement>> {
    const unproven = (reason: UnprovenReason) => ({ kind: 'unproven', jws, reason }) as const
    const read = readStatement(jws)
    if (read === undefined || read.alg !== 'EdDSA') return unproven('unreadable')
    if (!read.kid.startsWith(`${didOf(calledUrl)}#`)) return unproven('another_host')
    const judged = judge(read.statement)
    if (typeof judged === 'string') return unproven(judged)
    const document = await documentAt(didDocumentUrl(calledUrl), read.kid)
    if (document === undefined) return unproven('key_unreachable')
    const method = document.verificationMethod.find(({ id }) => id === read.kid)
    if (method?.publicKeyJwk === undefined) return unproven('key_unknown')
    if (!isSignedBy(read, method.publicKeyJwk)) return unproven('signature_invalid')
    return { kind: 'proven', jws, statement: judged.statement }
  }

  return {
    /** The signed offer of what was accepted, from a challenge's JSON. Never throws. */
    async offer(challenge: unknown, asked: AskedOffer): Promise<StatementVerdict<OfferStatement>> {
      const { data } = challengeSchema.safeParse(challenge)
      const offers = data?.extensions?.[OFFER_RECEIPT].info.offers ?? []
      let verdict: StatementVerdict<OfferStatement> = { kind: 'absent' }
      for (const { signature } of offers) {
        verdict = await prove(signature, asked.calledUrl, (statement) =>
          judgeOffer(statement, { ...asked, nowSeconds: nowSeconds() }),
        )
        if (verdict.kind === 'proven') return verdict
      }
      return verdict
    },
    /** The receipt in a settlement: the decoded `PAYMENT-RESPONSE`. Never throws. */
    async receipt(
      settlement: unknown,
      own: OwnPayment,
    ): Promise<StatementVerdict<ReceiptStatement>> {
      const { data } = settlementSchema.safeParse(settlement)
      const jws = data?.extensions?.[OFFER_RECEIPT].info.receipt.signature
      if (jws === undefined) return { kind: 'absent' }
      return await prove(jws, own.calledUrl, (statement) =>
        judgeReceipt(statement, { ...own, nowSeconds: nowSeconds() }),
      )
    },
    /** Our own statement beside a receipt: that `answerText`, the body as received, was the answer. Never throws. */
    async answer(
      settlement: unknown,
      own: OwnPayment & { readonly answerText: string },
    ): Promise<StatementVerdict<AnswerStatement>> {
      const { data } = answeredSchema.safeParse(settlement)
      const jws = data?.extensions?.[ANSWER_STATEMENT].info.statement.signature
      if (jws === undefined) return { kind: 'absent' }
      return await prove(jws, own.calledUrl, (statement) =>
        judgeAnswer(statement, { ...own, nowSeconds: nowSeconds() }),
      )
    },
  }
}
