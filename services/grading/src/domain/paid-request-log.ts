/** What a payment bought, as it was asked. */
export type PaidRequest = {
  readonly kind: 'grade' | 'audit'
  /** The request's one canonical text. */
  readonly text: string
  /** When it came, Unix seconds: what decides whether a pick came before its start. */
  readonly receivedAtSeconds: number
}

/**
 * Requests with a payment, kept from before the settlement until their answer is stored, so that a process that comes
 * after a crash can complete them. Every method throws GradingStoreUnavailable.
 */
export type PaidRequestLog = {
  /** Keeps a request, durable when it resolves; gives the first one that this payment came with. */
  keep(paymentId: string, request: PaidRequest): Promise<PaidRequest>
  find(paymentId: string): Promise<PaidRequest | undefined>
  forget(paymentId: string): Promise<void>
  /** Forgets what belongs to none of these payments: what ended without an answer. */
  forgetAllBut(paymentIds: readonly string[]): Promise<void>
}
