import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { KillableStack, LedgerAccount } from './killable-stack.ts'

/** Four periods of 3 HBAR. */
export const PURCHASE_TINYBAR = 1_200_000_000n

export const accessUrl = (stack: KillableStack, agent: LedgerAccount): string =>
  `${stack.description.access.baseUrl}/api/svc/access?agent=${agent.evmAddress}`

/**
 * Pays once with the official client, which signs at the first 402. Calls `onSent` when the signed request leaves.
 * Resolves with the last status; undefined if the connection was cut.
 */
export async function paySigned(
  stack: KillableStack,
  agent: LedgerAccount,
  onSent: () => void,
): Promise<number | undefined> {
  const signer = hederaSigner(agent)
  const scheme = new ExactHederaClient({ signer, memo: `x402:${agent.evmAddress}` })
  const client = new x402Client().register('hedera:*', scheme)
  const maxAmountPerPayment = String(PURCHASE_TINYBAR)
  client.setSpendControls({
    allowedAssets: [{ network: 'hedera:testnet', asset: '0.0.0', maxAmountPerPayment }],
  })
  const told: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    if (request.headers.has('payment-signature')) onSent()
    return fetch(request)
  }
  try {
    const answer = await wrapFetchWithPayment(told, client)(accessUrl(stack, agent))
    return answer.status
  } catch {
    // The connection was cut.
    return undefined
  }
}
