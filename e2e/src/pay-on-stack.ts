// Purchases on a local stack by the official client.
import { ExactEvmClient, evmSigner } from '@tallystick/x402/evm'
import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { StackDescription } from '../../scripts/stack/stack-file.ts'

/** Four periods of 3 HBAR, in tinybar, and one grade, in base units. */
const SPENT_MAX = { access: '1200000000', grading: '10000' }

export type Agent = StackDescription['agents'][number]

/** Where an agent buys, by default with plain `fetch`. */
type Shop = { readonly baseUrl: string; readonly request?: typeof fetch }

/** Buys a window, or calls inside one. */
export function payForAccess(agent: Agent, { baseUrl, request = fetch }: Shop): Promise<Response> {
  const scheme = new ExactHederaClient({
    signer: hederaSigner(agent),
    memo: `x402:${agent.evmAddress}`,
  })
  const client = new x402Client().register('hedera:*', scheme)
  const asset = { network: 'hedera:testnet', asset: '0.0.0' } as const
  client.setSpendControls({ allowedAssets: [{ ...asset, maxAmountPerPayment: SPENT_MAX.access }] })
  const url = `${baseUrl}/api/svc/access?agent=${agent.evmAddress}`
  return wrapFetchWithPayment(request, client)(url)
}

/** Buys the grade of a pick on a match that no ledger has. */
export function payForGrade(
  { privateKey }: Agent,
  { baseUrl, request = fetch }: Shop,
  { xlayer }: Pick<StackDescription, 'xlayer'>,
): Promise<Response> {
  const signer = evmSigner({ privateKey })
  const client = new x402Client().register('eip155:*', new ExactEvmClient({ signer }))
  const asset = { network: `eip155:${xlayer.chainId}`, asset: xlayer.stablecoin } as const
  client.setSpendControls({ allowedAssets: [{ ...asset, maxAmountPerPayment: SPENT_MAX.grading }] })
  const pick = { market: 'soccer/nowhere.20200101.a-b/1x2/ft', selection: 'home', odds: '1.90' }
  return wrapFetchWithPayment(request, client)(`${baseUrl}/api/grade`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ pick }),
  })
}
