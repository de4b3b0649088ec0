import { canonicalJson, preimageHash } from '@tallystick/hashchain'

/** What a committed pick says, shown once its event has started. */
export type PickOpening = {
  /** The whole market key, as text. */
  readonly market: string
  readonly selection: string
  /** Decimal odds taken, canonical text. */
  readonly odds: string
  /** When the service received it, Unix seconds. */
  readonly receivedAtSeconds: number
  /** When the payer says that the bet was placed, Unix seconds. */
  readonly placedAtSeconds?: number
  /** Best price of the selection that the ledger had when it was received, canonical text; left out where it had none. */
  readonly bestRecorded?: string
  /** One tag per payer and store, so that repeats can be counted and nobody is named. */
  readonly payerTag: string
  /** 32 random bytes, hex: without them the commitment of a likely pick could be guessed. */
  readonly salt: string
}

/** The commitment to a pick: SHA-256 of the opening's RFC 8785 JSON, hex. */
export const commitmentOf = (opening: PickOpening): string => preimageHash(canonicalJson(opening))
