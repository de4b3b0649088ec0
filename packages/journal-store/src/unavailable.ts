/** Tells an operator that a store cannot be read or written. */

/** Why a write would fail or wait now. */
export type WriteTrouble = {
  /** A snake_case code. */
  readonly reason: string
  /** For the operator; public. */
  readonly sentence: string
}

/** Makes a service's own error, which tells the operator what happened to the store. */
export type UnavailableError = new (message: string, options?: ErrorOptions) => Error

/** The text of whatever was thrown. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
