/** What anybody may read of one ledger entry, as it goes over the wire (G7). */
export type PublicEntry = {
  readonly seq: number
  /** RFC 9162 leaf hash, hex. */
  readonly hash: string
  /** The entry as it is hashed, where anybody may see it. */
  readonly entry?: Readonly<Record<string, unknown>>
  /** Otherwise what may be shown of it: everything but the prices. */
  readonly redacted?: Readonly<Record<string, unknown>>
  /** A committed pick's opening, once its event has started. */
  readonly opened?: Readonly<Record<string, unknown>>
  readonly inclusion: {
    readonly size: number
    readonly root: string
    readonly proof: readonly string[]
  }
}
