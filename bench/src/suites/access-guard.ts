// What a guarded agent's call costs in CPU beside an unguarded one's: a proof of its key once an hour, and its token on
// every other call.
import { answerSignIn, judgeSignIn, signInChallenge } from '@tallystick/x402'
import { verifyMessage } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createSessionKeys } from '../../../services/access/src/adapters/session-keys.ts'
import { type Figure, judgeFigure } from '../figure.ts'
import { median } from '../quantile.ts'
import type { FigureValues } from '../suite-result.ts'

/** Calls in one sample. */
const CALLS = 20_000
/** Proofs in one sample: a signature takes ten to a thousand times as long. */
const PROOFS = 400
const BASE_PROOFS = 40
const REPEATS = 9
const BASE_URL = 'https://access.example'
const CHAIN_ID = 'eip155:296'

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const agent = account.address.toLowerCase() as `0x${string}`
const sessions = createSessionKeys(new Uint8Array(32))

/** CPU microseconds per check. */
async function measureMicros(count: number, check: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  for (let at = 0; at < count; at += 1) {
    const isGood = check()
    if ((isGood instanceof Promise ? await isGood : isGood) !== true) throw new Error('refused')
  }
  const { system, user } = process.cpuUsage(before)
  return (user + system) / count
}

/** The median over the samples after the first, which warms up. */
async function measureMedian(count: number, check: () => unknown): Promise<number> {
  const samples: number[] = []
  for (let repeat = 0; repeat <= REPEATS; repeat += 1)
    samples.push(await measureMicros(count, check))
  return median(samples.slice(1))
}

async function signedProof() {
  const nowMs = Date.now()
  const { body } = signInChallenge({
    error: 'sign_in_required',
    resource: { url: `${BASE_URL}/api/svc/access`, description: '', mimeType: 'application/json' },
    statement: 'Prove that you hold the key of this agent.',
    chainId: CHAIN_ID,
    issuedAtMs: nowMs,
    serial: 1,
    makeNonce: (issuedAt) => sessions.makeNonce(agent, issuedAt),
  })
  let message = ''
  const header = await answerSignIn(JSON.parse(body), {
    url: BASE_URL,
    signer: {
      address: account.address,
      chainId: CHAIN_ID,
      signText(text) {
        message = text
        return account.signMessage({ message })
      },
    },
  })
  const signature = await account.signMessage({ message })
  return { header: header ?? '', message, nowMs, signature }
}

/** A proof and a token. */
export async function measureAccessGuard(): Promise<readonly Figure[]> {
  const { header, message, nowMs, signature } = await signedProof()
  const wanted = {
    baseUrl: BASE_URL,
    chainId: CHAIN_ID,
    address: agent,
    nowMs,
    isNonce: (nonce: string, issuedAt: string) => sessions.isNonce({ agent, nonce, issuedAt }),
  }
  const proof = await measureMedian(PROOFS, () => judgeSignIn(header, wanted).kind === 'proved')
  const baseProof = await measureMedian(BASE_PROOFS, () =>
    verifyMessage({ address: account.address, message, signature }),
  )
  const nowSeconds = Math.floor(nowMs / 1000)
  const token = sessions.makeToken(agent, nowSeconds + 3_600)
  const bearer = await measureMedian(
    CALLS,
    () => sessions.judgeToken({ agent, token, nowSeconds }) === 'valid',
  )
  return [
    judgeFigure({
      name: "judging a proof of an agent's key",
      value: proof,
      unit: 'µs',
      baseline: { name: "viem's verifyMessage", value: baseProof },
      aim: { kind: 'none' },
    }),
    judgeFigure({
      name: "judging an agent's token",
      value: bearer,
      unit: 'µs',
      baseline: { name: 'a proof', value: proof },
      aim: { kind: 'at-most', value: 10 },
    }),
  ]
}

/** Measured again: judging asks no network. */
export const accessGuardLikeTestnet = async (): Promise<FigureValues> =>
  Object.fromEntries((await measureAccessGuard()).map(({ name, value }) => [name, value]))
