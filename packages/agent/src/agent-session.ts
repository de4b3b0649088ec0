// How a guarded agent gets into its own window: it answers the service's request for a proof of its key, and sends the token
// that this brought until that ends (A17).
import { answerSignIn } from '@tallystick/x402'
import type { LocalAccount } from 'viem'

/** Where the answer to a proof carries the token. */
const TOKEN_HEADER = 'ACCESS-TOKEN'

/** The EVM side of each network, whose id the text to sign names. */
const EVM_CHAINS: Readonly<Record<string, string>> = {
  'hedera:testnet': 'eip155:296',
  'hedera:mainnet': 'eip155:295',
}

/**
 * `fetch` for the calls of one agent to its service. A 402 that asks for a proof, and for no payment, is answered once, with
 * the same request, whatever payment that carries; every other answer is passed on. Signs for the origin it called alone.
 */
export function sessionFetch(
  fetch: typeof globalThis.fetch,
  { account, network }: { readonly account: LocalAccount; readonly network: string },
): typeof globalThis.fetch {
  let token: string | undefined
  const signer = {
    address: account.address,
    chainId: EVM_CHAINS[network] ?? '',
    signText: (message: string) => account.signMessage({ message }),
  }
  // The signal goes with `fetch`: Node 26 loses that of a Request whose memory is collected while the answer is awaited, so
  // that no time limit would hold. Inside the Request it may go once undici keeps the request that it works for.
  const send = async (request: Request, limit: RequestInit): Promise<Response> => {
    const answer = await fetch(request, limit)
    token = answer.headers.get(TOKEN_HEADER) ?? token
    return answer
  }
  return async (input, { signal, ...init } = {}) => {
    const limit = signal ? { signal } : {}
    const request = new Request(input, init)
    if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`)
    const answer = await send(request.clone(), limit)
    if (answer.status !== 402) return answer
    const body: unknown = await answer
      .clone()
      .json()
      .catch(() => undefined)
    const proof = await answerSignIn(body, { signer, url: request.url })
    if (proof === undefined) return answer
    await answer.body?.cancel()
    token = undefined
    request.headers.delete('authorization')
    request.headers.set('SIGN-IN-WITH-X', proof)
    return await send(request, limit)
  }
}
