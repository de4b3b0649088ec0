/** Paying with the browser's wallet (EIP-1193). The wallet shows what is signed; no key comes near this page. */
import { chainIdOf, isSignature } from './challenge.js'
import { typedDataOf } from './transfer-typed-data.js'

/** @typedef {import('./development-key.js').Payer} Payer */
/** @typedef {{ request(call: { method: string, params?: unknown[] }): Promise<unknown> }} Provider */

/** The wallet's error for a network that it does not know (EIP-3085). */
const UNKNOWN_NETWORK = 4902

/** @returns {Provider | undefined} */
export function walletProvider() {
  const { ethereum } = /** @type {{ ethereum?: Provider }} */ (globalThis)
  return typeof ethereum?.request === 'function' ? ethereum : undefined
}

/** @param {unknown} error */
const codeOf = (error) =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined

/**
 * Wallets sign only for the network that they are on.
 *
 * @param {Provider} provider
 * @param {{ chainId: string, rpcUrl: string }} network
 */
async function switchNetwork(provider, { chainId, rpcUrl }) {
  const current = await provider.request({ method: 'eth_chainId' })
  if (current === chainId) return
  const params = [{ chainId }]
  try {
    await provider.request({ method: 'wallet_switchEthereumChain', params })
  } catch (error) {
    if (codeOf(error) !== UNKNOWN_NETWORK || rpcUrl === '') throw error
    await provider.request({
      method: 'wallet_addEthereumChain',
      params: [
        {
          chainId,
          chainName: 'X Layer',
          rpcUrls: [rpcUrl],
          nativeCurrency: { name: 'OKB', symbol: 'OKB', decimals: 18 },
        },
      ],
    })
  }
}

/**
 * Asks the wallet for an address. Throws the wallet's own error where the person declines.
 *
 * @param {Provider} provider
 * @param {{ network: string, rpcUrl: string }} payment
 * @returns {Promise<Payer>}
 */
export async function walletPayer(provider, { network, rpcUrl }) {
  const accounts = await provider.request({ method: 'eth_requestAccounts' })
  const address = Array.isArray(accounts) ? String(accounts[0] ?? '') : ''
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new Error('the wallet gave no address')
  const chainId = `0x${(chainIdOf(network) ?? 0).toString(16)}`
  return {
    address: address.toLowerCase(),
    async sign(domain, message) {
      await switchNetwork(provider, { chainId, rpcUrl })
      const params = [address, JSON.stringify(typedDataOf(domain, message))]
      const signature = await provider.request({ method: 'eth_signTypedData_v4', params })
      if (!isSignature(signature)) throw new Error('the wallet gave no signature')
      return String(signature)
    },
  }
}
