export type FirstRequest = {
  /** The paid resource's address, without a query. */
  readonly url: string
  readonly network: string
  /** Price of a purchase: what the client is allowed to spend. Base units. */
  readonly amount: string
}

/**
 * An agent's first request, whole: the official client with our Hedera scheme. Its `setSpendControls` line is needed,
 * since without it official clients refuse HBAR (X13).
 */
export function firstRequestCode({ url, network, amount }: FirstRequest): string {
  return `import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'

const signer = hederaSigner({ accountId: process.env.ACCOUNT_ID, privateKey: process.env.PRIVATE_KEY })
const agent = process.env.AGENT ?? signer.evmAddress

const client = new x402Client().register('hedera:*', new ExactHederaClient({ signer, memo: \`x402:\${agent}\` }))
client.setSpendControls({ allowedAssets: [{ network: '${network}', asset: '0.0.0', maxAmountPerPayment: '${amount}' }] })

const fetchPaid = wrapFetchWithPayment(fetch, client)
const answer = await fetchPaid(\`${url}?agent=\${agent}\`)
console.log(answer.status, await answer.json())`
}
