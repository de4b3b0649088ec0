/**
 * What viem's errors mean. They are told apart by name and text along the chain of causes, not by class: two copies of
 * viem may be installed, and their classes are not equal.
 */

function* causes(error: unknown): Generator<Error> {
  for (let current = error; current instanceof Error; current = current.cause) yield current
}

/** The name of the contract's error, where a call would revert or did; undefined for any other failure. */
export function revertName(error: unknown): string | undefined {
  for (const cause of causes(error)) {
    if (cause.name !== 'ContractFunctionRevertedError') continue
    const { data } = cause as Error & { readonly data?: { readonly errorName?: string } }
    return data?.errorName ?? 'reverted'
  }
  return undefined
}

/** Whether the ledger answered that there is no such contract: a call that returned no data. */
export function isNoContract(error: unknown): boolean {
  return [...causes(error)].some(
    ({ name }) => name === 'ContractFunctionZeroDataError' || name === 'AbiDecodingZeroDataError',
  )
}

/** Whether a receipt or transaction is simply not there yet. */
export function isNotFound(error: unknown): boolean {
  return [...causes(error)].some(
    (cause) =>
      cause.name === 'TransactionReceiptNotFoundError' || cause.name === 'TransactionNotFoundError',
  )
}
