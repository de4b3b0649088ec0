// The official client of sign-in-with-x judges the challenge, and our client's answer.
import {
  createSIWxClientExtension,
  formatSIWEMessage,
  parseSIWxHeader,
} from '@x402/extensions/sign-in-with-x'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { array, assert as assertProperty, property, record, stringMatching } from 'fast-check'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { issuedAtMs, vectors, wanted } from './sign-in.fixture.ts'
import { answerSignIn, signInChallenge } from './sign-in-challenge.ts'
import { signInText } from './sign-in-message.ts'
import { judgeSignIn } from './sign-in-proof.ts'

const account = privateKeyToAccount(vectors.privateKey)
const url = 'https://api.example.com/api/svc/access'
const challenge = signInChallenge({
  error: 'sign_in_required',
  resource: { url, description: 'A feed.', mimeType: 'application/json' },
  statement: 'Prove that you hold the key of this agent.',
  chainId: 'eip155:296',
  issuedAtMs,
  serial: 7,
  makeNonce: () => 'a1b2c3d4e5f67890a1b2c3d4e5f67890',
})
const signer = {
  address: account.address,
  chainId: 'eip155:296',
  signText: (message: string) => account.signMessage({ message }),
}
const body: unknown = JSON.parse(challenge.body)

test('X2: the same JSON in body and header, nothing to pay, no schema', () => {
  const header = challenge.headers['PAYMENT-REQUIRED'] ?? ''
  expect(Buffer.from(header, 'base64').toString('utf8')).toBe(challenge.body)
  expect(body).toEqual({
    x402Version: 2,
    error: 'sign_in_required',
    resource: { url, description: 'A feed.', mimeType: 'application/json' },
    accepts: [],
    extensions: {
      'sign-in-with-x': {
        info: {
          domain: 'api.example.com',
          uri: url,
          version: '1',
          nonce: 'a1b2c3d4e5f67890a1b2c3d4e5f67890',
          issuedAt: '2026-11-22T12:00:00.000000007Z',
          expirationTime: '2026-11-22T12:05:00.000Z',
          statement: 'Prove that you hold the key of this agent.',
        },
        supportedChains: [{ chainId: 'eip155:296', type: 'eip191' }],
      },
    },
  })
})

test('A17: the official client answers the challenge, unmodified, and its proof is accepted', async () => {
  const sent: (string | null)[] = []
  const service: typeof fetch = async (input, init) => {
    const header = new Request(input, init).headers.get('sign-in-with-x')
    sent.push(header)
    const isProved = header !== null && judgeSignIn(header, wanted).kind === 'proved'
    const answer = new Response(isProved ? '{}' : challenge.body, {
      status: isProved ? 200 : 402,
      headers: challenge.headers,
    })
    Object.defineProperty(answer, 'url', { value: url })
    return answer
  }
  const client = new x402Client().registerExtension(
    createSIWxClientExtension({ signers: [account] }),
  )
  const answer = await wrapFetchWithPayment(service, client)(url)
  expect(answer.status).toBe(200)
  expect(sent).toEqual([null, expect.any(String)])
})

test('A17: our client’s answer is accepted by the official reader, and by us', async () => {
  const header = await answerSignIn(body, { signer, url })
  expect(parseSIWxHeader(header ?? '')).toMatchObject({
    address: account.address,
    chainId: 'eip155:296',
    type: 'eip191',
  })
  expect(judgeSignIn(header ?? '', wanted)).toMatchObject({ kind: 'proved' })
})

describe('A17: our client signs no proof', () => {
  test.each([
    ['for a service other than the one called', { url: 'https://other.example/' }],
    ['for another port of that service', { url: 'https://api.example.com:8443/' }],
    ['without TLS if the challenge has it', { url: 'http://api.example.com/' }],
    ['for another chain', { signer: { ...signer, chainId: 'eip155:295' } }],
    ['for a chain that is not an EVM chain', { signer: { ...signer, chainId: 'hedera:testnet' } }],
  ])('%s', async (_what, change) => {
    expect(await answerSignIn(body, { signer, url, ...change })).toBeUndefined()
  })

  test.each([
    ['if something can be paid', { ...(body as object), accepts: [{}] }],
    ['if nothing asks for it', { x402Version: 2, accepts: [] }],
    ['if the body is not JSON', undefined],
  ])('%s', async (_what, other) => {
    expect(await answerSignIn(other, { signer, url })).toBeUndefined()
  })
})

test('A17: for arbitrary fields the text equals the official library’s', () => {
  const statement = stringMatching(/^[A-Za-z0-9,.:;!?'()]([A-Za-z0-9 ,.:;!?'()]{0,40}\.)?$/)
  const time = stringMatching(/^20[0-9]{2}-0[1-9]-1[0-9]T0[0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z$/)
  const fields = record(
    {
      nonce: stringMatching(/^[a-zA-Z0-9]{8,64}$/),
      issuedAt: time,
      statement,
      expirationTime: time,
      notBefore: time,
      requestId: stringMatching(/^[a-z0-9-]{1,20}$/),
      resources: array(stringMatching(/^https:\/\/[a-z]{1,9}\/[a-z0-9?=&]{0,20}$/)),
    },
    { requiredKeys: ['nonce', 'issuedAt'] },
  )
  assertProperty(
    property(fields, stringMatching(/^0x[0-9a-f]{40}$/), (some, address) => {
      const info = {
        domain: 'a.example',
        uri: 'https://a.example/x',
        version: '1',
        ...some,
      } as const
      const chainId = 'eip155:296'
      const text = signInText(info, { address, chainId })
      const [, checksummed = ''] = text.split('\n')
      expect(text).toBe(formatSIWEMessage({ ...info, chainId, type: 'eip191' }, checksummed))
    }),
  )
})
