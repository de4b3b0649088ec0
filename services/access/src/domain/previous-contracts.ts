/** Contracts that sold for the same `PAY_TO` before the current one (A23). */
import type { AccessContract } from './access-contract.ts'

/**
 * The current contract with the payments of all: a reference that any of them consumed is used. If one of them cannot be
 * read, no payment is judged.
 */
export function afterPreviousContracts(
  contract: AccessContract,
  previous: readonly AccessContract[],
): AccessContract {
  return {
    ...contract,
    isOwn: (address) => [contract, ...previous].some((each) => each.isOwn(address)),
    async findPayment(paymentReference) {
      const [own, ...before] = await Promise.all([
        contract.findPayment(paymentReference),
        ...previous.map((each) => each.findPayment(paymentReference)),
      ])
      return before.find(({ isUsed }) => isUsed) ?? own
    },
  }
}
