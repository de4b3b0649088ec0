/** Why a write was accepted or refused (care.md, Audit row). */
export type AuditReason =
  | 'ok'
  | 'body_too_large'
  | 'missing_timestamp'
  | 'stale_timestamp'
  | 'bad_signature'
  | 'missing_signature'
  | 'insufficient_scope'
  | 'malformed_body'
  | 'invalid_fields'
  | 'store_rejected'

/** One row. Never holds a credential, a MAC, a token or a value. */
export type AuditRow = {
  /** ISO 8601. */
  readonly at: string
  readonly outcome: 'accepted' | 'rejected'
  readonly reason: AuditReason
  readonly via: 'hmac' | 'bearer' | 'none'
  /** Null until the writer is verified. */
  readonly actor: string | null
  /** On accepted writes. */
  readonly uri?: string
}

/** A row as the trail keeps it, with its place in it. */
export type KeptAuditRow = AuditRow & {
  /** From 1, in order of arrival; `before` counts in it. */
  readonly sequence: number
}

export type AuditTrail = {
  /** Accepted rows are durable when it resolves; refusals are batched. */
  add(row: AuditRow): Promise<void>
  /** Newest first, of those with a sequence under `before`. */
  read(query: {
    readonly limit: number
    readonly before?: number
  }): Promise<readonly KeptAuditRow[]>
  close(): Promise<void>
}
