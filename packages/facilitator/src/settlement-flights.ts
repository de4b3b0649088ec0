/** What makes two requests the same payment: the id, and a digest of what was signed under it. */
export type PaymentIdentity = { readonly id: string; readonly fingerprint: string }

type Flight<Answer> = { readonly payment: PaymentIdentity; readonly settle: () => Promise<Answer> }

/** Settlements under way or in doubt, by the payment's id: one submission per id, whatever comes at once. */
export type SettlementFlights<Answer> = {
  /**
   * Runs `settle` unless the same payment is under way, whose answer is then shared. `conflict` where another payment
   * under the same id is under way, `full` where too many are.
   */
  join(flight: Flight<Answer>): Promise<Answer> | 'conflict' | 'full'
  /** Remembers the hash under which a payment was submitted, until what became of it is known. */
  doubt(payment: PaymentIdentity, transactionHash: Uint8Array): void
  /** That hash, where this process submitted the payment and does not know yet what became of it. */
  doubted(payment: PaymentIdentity): Uint8Array | undefined
  resolve(payment: PaymentIdentity): void
  readonly count: number
}

/** Settlements at once: each holds a connection to a node for some seconds; more would only queue there. */
const FLIGHTS_MAX = 256

/** Doubts remembered; the oldest goes first. Past its validity a payment cannot be submitted again anyway. */
const DOUBTS_MAX = 10_000

/** Returns an empty set of flights. */
export function settlementFlights<Answer>(flightsMax = FLIGHTS_MAX): SettlementFlights<Answer> {
  const flights = new Map<string, { fingerprint: string; answer: Promise<Answer> }>()
  const doubts = new Map<string, { fingerprint: string; transactionHash: Uint8Array }>()
  return {
    join({ payment, settle }) {
      const current = flights.get(payment.id)
      if (current !== undefined)
        return current.fingerprint === payment.fingerprint ? current.answer : 'conflict'
      if (flights.size >= flightsMax) return 'full'
      const answer = settle().finally(() => flights.delete(payment.id))
      flights.set(payment.id, { fingerprint: payment.fingerprint, answer })
      return answer
    },
    doubt({ id, fingerprint }, transactionHash) {
      doubts.set(id, { fingerprint, transactionHash })
      for (const oldest of doubts.keys()) {
        if (doubts.size <= DOUBTS_MAX) break
        doubts.delete(oldest)
      }
    },
    doubted({ id, fingerprint }) {
      const doubt = doubts.get(id)
      return doubt?.fingerprint === fingerprint ? doubt.transactionHash : undefined
    },
    resolve: ({ id }) => void doubts.delete(id),
    get count() {
      return flights.size
    },
  }
}
