// How a guarded agent enters its own window: it answers the service's request for a proof of its key, and sends the token
// from that answer until it expires (A17).
import { answerSignIn } from '@tallystick/x402'
import type { LocalAccount } from 'viem'

/** Where the answer to a proof carries the token. */
const TOKEN_HEADER = 'ACCESS-TOKEN'

/** The EVM chain id of each network, which the signed text contains. */
const EVM_CHAINS: Readonly<Record<string, string>> = {
  'hedera:testnet': 'eip155:296',
  'hedera:mainnet': 'eip155:295',
}

/**
 * `fetch` for one agent's calls to its service. A 402 that asks for a proof and no payment is answered once, by repeating the
 * request with whatever payment it carries; every other answer is passed on. Signs only for the origin it called.
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
  // The signal goes to `fetch`, not into the Request: Node 26 loses the signal of a Request that is garbage-collected while
  // its answer is awaited, and with it the time limit. That can change once undici keeps the request it works on.
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
