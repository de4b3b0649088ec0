// An agent with an open window that only it can use, for tests of its proofs.
import { answerSignIn } from '@tallystick/x402'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, expect } from 'vitest'
import type { Hex } from '../domain/access-window.ts'
import { openWindow } from '../testing/fake-contract.ts'
import { START_SECONDS } from '../testing/fake-service.ts'
import { type AccessRoute, startAccessRoute } from './access-route.fixture.ts'

export const SESSION_SECRET = 'a secret of more than thirty-two bytes'
export const account = privateKeyToAccount(`0x${'33'.repeat(32)}`)
export const agent = account.address.toLowerCase() as Hex
/** Of the agent's key, compressed. */
const { publicKey } = account
const y = BigInt(`0x${publicKey.slice(68)}`)
const compressed = Buffer.from(`${y % 2n === 0n ? '02' : '03'}${publicKey.slice(4, 68)}`, 'hex')

export const guarded = (change = {}) =>
  openWindow(START_SECONDS + 1_000, { isGuarded: true, ...change })

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** The answer of that account to a challenge's body, as a header. */
export async function proofFor(
  body: unknown,
  by = account,
  origin = 'https://access.example',
): Promise<Record<'sign-in-with-x', string>> {
  const signer = {
    address: by.address,
    chainId: 'eip155:296',
    signText: (message: string) => by.signMessage({ message }),
  }
  const proof = await answerSignIn(body, { signer, url: origin })
  if (proof === undefined) throw new Error('no sign-in is asked for')
  return { 'sign-in-with-x': proof }
}

/** A new process for each test of the file, in which the agent has such a window. */
export function guardedWindow() {
  let route: AccessRoute
  beforeEach(async () => {
    route = await startAccessRoute({ SESSION_SECRET })
    route.fakes.contract.windows.set(agent, guarded())
    route.fakes.accounts.set(agent, {
      accountId: '0.0.5',
      evmAddress: agent,
      key: { kind: 'ecdsa', publicKey: compressed },
      isDeleted: false,
    })
  })
  afterEach(() => route.close())

  const call = (headers: Readonly<Record<string, string>> = {}, who: string = agent) =>
    route.call(headers, who)
  const signIn = async () => proofFor((await call()).json())
  return {
    route: () => route,
    fakes: () => route.fakes,
    call,
    signIn,
    tokenAfterSignIn: async () => String((await call(await signIn())).headers['access-token']),
    /** Why a call is refused: with nothing to pay, and no token. */
    readRefusal: async (
      headers: Readonly<Record<string, string>>,
      who?: string,
    ): Promise<string> => {
      const answer = await call(headers, who)
      expect(answer.statusCode).toBe(402)
      expect(answer.json().accepts).toEqual([])
      expect(answer.headers['access-token']).toBeUndefined()
      return answer.json().error
    },
  }
}
