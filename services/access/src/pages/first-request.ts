/**
 * An agent's complete first request: the official client with our Hedera scheme. Without its `setSpendControls` line
 * official clients refuse HBAR (X13). `url` has no query; `amount`, in base units, is what the client may spend.
 */
export function firstRequestCode(
  offer: Readonly<Record<'url' | 'network' | 'amount', string>>,
): string {
  const { url, network, amount } = offer
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
