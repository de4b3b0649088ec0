/**
 * Who pays on the forms page: a development key from the link, otherwise the browser's wallet (EIP-1193), otherwise
 * nobody. A wallet shows what is signed; its key never reaches this page.
 */
import { onFragment, pageElement, pageFact, put } from '@tallystick/service-kit/browser'
import type { EvmSigner } from '@tallystick/x402/evm'
import { DOMAIN_FIELDS } from '@tallystick/x402/evm-client'

type Provider = {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

/** The wallet's error for an unknown network (EIP-3085). */
const UNKNOWN_NETWORK = 4902

function walletProvider(): Provider | undefined {
  const { ethereum } = globalThis as { ethereum?: Provider }
  return typeof ethereum?.request === 'function' ? ethereum : undefined
}

const errorCode = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined

/** A wallet's error in words; code 4001 means that the person declined (EIP-1193). */
export function walletWords(error: unknown): string {
  const code = errorCode(error)
  if (code === 4001) return 'You declined in the wallet. Nothing was charged.'
  if (code === -32002) return 'The wallet is already waiting for your answer: open it.'
  return 'The wallet did not sign. Nothing was charged.'
}

/** Wallets sign only for their current network. */
async function switchNetwork(
  provider: Provider,
  { chainId, rpcUrl }: { readonly chainId: string; readonly rpcUrl: string },
): Promise<void> {
  const current = await provider.request({ method: 'eth_chainId' })
  if (current === chainId) return
  const params = [{ chainId }]
  try {
    await provider.request({ method: 'wallet_switchEthereumChain', params })
  } catch (error) {
    if (errorCode(error) !== UNKNOWN_NETWORK || rpcUrl === '') throw error
    const nativeCurrency = { name: 'OKB', symbol: 'OKB', decimals: 18 }
    await provider.request({
      method: 'wallet_addEthereumChain',
      params: [{ chainId, chainName: 'X Layer', rpcUrls: [rpcUrl], nativeCurrency }],
    })
  }
}

const inDecimals = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value

/** Asks the wallet for an address. Throws the wallet's own error if the person declines. */
async function walletPayer(provider: Provider): Promise<EvmSigner> {
  const accounts = await provider.request({ method: 'eth_requestAccounts' })
  const address = Array.isArray(accounts) ? String(accounts[0] ?? '') : ''
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new Error('the wallet gave no address')
  return {
    address: `0x${address.slice(2).toLowerCase()}`,
    async signTypedData(typedData) {
      const chainId = `0x${typedData.domain.chainId.toString(16)}`
      await switchNetwork(provider, { chainId, rpcUrl: pageFact('payment-rpcUrl') })
      const types = { EIP712Domain: DOMAIN_FIELDS, ...typedData.types }
      const params = [address, JSON.stringify({ ...typedData, types }, inDecimals)]
      const signature = await provider.request({ method: 'eth_signTypedData_v4', params })
      // A contract wallet's signature is longer than a key's.
      if (typeof signature !== 'string' || !/^0x(?:[0-9a-fA-F]{2}){65,}$/.test(signature))
        throw new Error('the wallet gave no signature')
      return `0x${signature.slice(2)}`
    },
  }
}

/**
 * Whether a key in a link may be used: only if the service runs on the reader's own machine. A valuable key belongs in a
 * wallet, and this page must not train anyone to put one into an address.
 */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

let payer: EvmSigner | undefined
let onChange = (): void => {}

export const currentPayer = (): EvmSigner | undefined => payer

function setPayer(words: string, next: EvmSigner): void {
  payer = next
  put('payer-words', words)
  put('payer-problem', '')
  onChange()
}

async function takeKey(key: string | null): Promise<void> {
  if (key === null) return
  if (!LOOPBACK.includes(location.hostname)) {
    put(
      'payer-problem',
      'The link carried a key. It was dropped: keys are accepted only if the service runs on your own machine.',
    )
    return
  }
  try {
    // The signing code is loaded only if a key is used.
    const { developmentPayer } = await import('./development-key.ts')
    const made = developmentPayer(key)
    setPayer(
      `Development key from the link: ${made.address}. It is held in memory until you leave the page.`,
      made,
    )
  } catch {
    put('payer-problem', 'The link carried an invalid key: a key is 32 bytes in hex.')
  }
}

async function connectWallet(): Promise<void> {
  const provider = walletProvider()
  if (provider === undefined) return
  const button = pageElement('connect', HTMLButtonElement)
  button.disabled = true
  try {
    const made = await walletPayer(provider)
    setPayer(`Your wallet: ${made.address}. It shows each payment before you sign it.`, made)
  } catch (error) {
    put('payer-problem', walletWords(error))
  }
  button.disabled = false
}

/** Finds out who can pay and shows it on the page; calls `change` whenever that changes. */
export function watchPayer(change: () => void): void {
  onChange = change
  const connect = pageElement('connect', HTMLButtonElement)
  connect.addEventListener('click', () => void connectWallet())
  const hasWallet = walletProvider() !== undefined
  connect.hidden = !hasWallet
  put(
    'payer-words',
    hasWallet
      ? 'This browser has a wallet. The page asks it for an address, and for one signature per call.'
      : 'No wallet found in this browser. Without one you can check a request for free; the overview has a first paid request for agents.',
  )
  onFragment((carried) => void takeKey(carried.get('key')))
  change()
}
