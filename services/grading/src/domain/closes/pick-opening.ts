/** What a committed pick says; public once its event has started, apart from the prices of sources that may not be shown. */
export type PickOpening = {
  /** The whole market key, as text. */
  readonly market: string
  readonly selection: string
  /** Decimal odds taken, canonical text. */
  readonly odds: string
  /** When the service received it, Unix seconds. */
  readonly receivedAtSeconds: number
  /** When the bet was placed, according to the payer; Unix seconds. */
  readonly placedAtSeconds?: number
  /** The selection's best recorded price at that moment, canonical text; absent if there was none. */
  readonly bestRecorded?: string
  /** Whether every source that had a price then may be shown. */
  readonly isBestOpen?: true
  /** Otherwise 32 random bytes, hex: the opening gives the hash of salt and best price instead of the price (G14). */
  readonly bestSalt?: string
  /** The price was far from any that was recorded then, and the payer did not confirm it: it counts nowhere (G21). */
  readonly isUnconfirmed?: true
  /** One tag per payer and store: it counts repeats without naming the payer. */
  readonly payerTag: string
  /** 32 random bytes, hex: without them the commitment to a likely pick could be guessed. */
  readonly salt: string
}

/** A committed pick with its place in the ledger. */
export type CommittedPick = { readonly seq: number; readonly opening: PickOpening }
