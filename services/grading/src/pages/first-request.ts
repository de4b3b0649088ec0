import type { EvmAsset } from '@tallystick/x402/evm'
import { priceUnits } from '../routes/sale-terms.ts'

/**
 * An agent's complete first paid request: the official client with our scheme for signed transfers. It needs the
 * `setSpendControls` line, because official clients otherwise refuse this token (X13).
 */
export function firstRequestCode(baseUrl: string, asset: EvmAsset): string {
  return `import { ExactEvmClient, evmSigner } from '@tallystick/x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'

const signer = evmSigner({ privateKey: process.env.PRIVATE_KEY })
const client = new x402Client().register('eip155:*', new ExactEvmClient({ signer }))
client.setSpendControls({
  allowedAssets: [
    {
      network: '${asset.network}',
      asset: '${asset.address}',
      maxAmountPerPayment: '${priceUnits('audit', asset)}',
    },
  ],
})

const fetchPaid = wrapFetchWithPayment(fetch, client)
const answer = await fetchPaid('${baseUrl}/api/grade', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ pick: { market: process.env.MARKET, selection: 'home', odds: '2.10' } }),
})
console.log(answer.status, await answer.json())`
}
