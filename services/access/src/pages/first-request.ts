/**
 * An agent's complete first request: the official client with our Hedera scheme. Without its `setSpendControls` line
 * official clients refuse HBAR (X13), and without the guard whoever knows the agent's address may use up its window (A17).
 * `url` has no query; `amount`, in base units, is what the client may spend.
 */
export function firstRequestCode(
  offer: Readonly<Record<'url' | 'network' | 'amount' | 'contract', string>>,
): string {
  const { url, network, amount, contract } = offer
  return `import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createWalletClient, http, parseAbi, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

const signer = hederaSigner({ accountId: process.env.ACCOUNT_ID, privateKey: process.env.PRIVATE_KEY })
const agent = process.env.AGENT ?? signer.evmAddress

const client = new x402Client().register('hedera:*', new ExactHederaClient({ signer, memo: \`x402:\${agent}\` }))
client.setSpendControls({ allowedAssets: [{ network: '${network}', asset: '0.0.0', maxAmountPerPayment: '${amount}' }] })

const fetchPaid = wrapFetchWithPayment(fetch, client)
const answer = await fetchPaid(\`${url}?agent=\${agent}\`)
console.log(answer.status, await answer.json())

// Once: the guard, without which whoever knows this address may use up its window.
const account = privateKeyToAccount(\`0x\${process.env.PRIVATE_KEY.replace(/^0x/, '')}\`)
const ledger = createWalletClient({ account, transport: http(process.env.LEDGER_RPC_URL) }).extend(publicActions)
await ledger.writeContract({
  address: '${contract}', abi: parseAbi(['function setGuard(address agent, bool isGuarded, bytes signature)']),
  functionName: 'setGuard', args: [signer.evmAddress, true, '0x'],
  chain: null, type: 'legacy', gas: 150_000n, gasPrice: await ledger.getGasPrice(),
})`
}
