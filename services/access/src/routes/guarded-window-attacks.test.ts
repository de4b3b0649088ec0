// A17: what a guarded window keeps out. Each attack stands here by its name.
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { createSessionKeys, deriveSessionKey } from '../adapters/session-keys.ts'
import type { Hex } from '../domain/access-window.ts'
import { START_SECONDS } from '../testing/fake-service.ts'
import { decoded } from './access-route.fixture.ts'
import {
  account,
  agent,
  bearer,
  guarded,
  guardedWindow,
  proofFor,
  SESSION_SECRET,
} from './guarded-window.fixture.ts'

const stranger = privateKeyToAccount(`0x${'44'.repeat(32)}`)
const { call, fakes, readRefusal, signIn, tokenAfterSignIn } = guardedWindow()

/** A proof with fields changed after the challenge and before it is signed. */
async function changedProof(change: Readonly<Record<string, string>>) {
  const body = (await call()).json()
  Object.assign(body.extensions['sign-in-with-x'].info, change)
  const { host, origin } = new URL(body.extensions['sign-in-with-x'].info.uri)
  expect(host).not.toBe('')
  return proofFor(body, account, origin)
}

describe('A17: attacks', () => {
  test('a stranger who reads an address from the chain cannot use up a guarded window', async () => {
    const answers = await Promise.all(Array.from({ length: 999 }, () => call()))
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([402]))
    expect(fakes().recorded).toEqual([])
    expect((await call(await signIn())).statusCode).toBe(200)
  })

  test('999 challenges of one millisecond have 999 nonces', async () => {
    const answers = await Promise.all(Array.from({ length: 999 }, () => call()))
    const nonces = answers.map((answer) => answer.json().extensions['sign-in-with-x'].info.nonce)
    expect(new Set(nonces).size).toBe(999)
  })

  test('a replayed proof, also at once', async () => {
    const proof = await signIn()
    const answers = await Promise.all([call(proof), call(proof), call(proof)])
    const served = answers.filter(({ statusCode }) => statusCode === 200)
    expect(served).toHaveLength(1)
    expect(await readRefusal(proof)).toBe('sign_in_already_used')
    expect(fakes().recorded).toHaveLength(1)
  })

  test('a replayed proof after its 300 s', async () => {
    const proof = await signIn()
    await fakes().clock.advanceMsSettled(300_000)
    expect(await readRefusal(proof)).toBe('invalid_siwx_issued_at_too_old')
  })

  test('a stranger’s proof under the agent’s name', async () => {
    const body = (await call()).json()
    expect(await readRefusal(await proofFor(body, stranger))).toBe('invalid_siwx_address')
    const { 'sign-in-with-x': header } = await proofFor(body, stranger)
    const lie = JSON.stringify({ ...JSON.parse(decoded(header)), address: account.address })
    const named = { 'sign-in-with-x': Buffer.from(lie).toString('base64') }
    expect(await readRefusal(named)).toBe('invalid_siwx_signature')
  })

  test('a proof for another agent', async () => {
    const other = stranger.address.toLowerCase() as Hex
    fakes().contract.windows.set(other, guarded())
    const theirs = await proofFor((await call({}, other)).json(), stranger)
    expect(await readRefusal(theirs)).toBe('invalid_siwx_address')
    const forMine = await proofFor((await call({}, other)).json())
    expect(await readRefusal(forMine)).toBe('invalid_siwx_nonce')
  })

  test('a proof for another host', async () => {
    const elsewhere = { domain: 'evil.example', uri: 'https://evil.example/' }
    expect(await readRefusal(await changedProof(elsewhere))).toBe('invalid_siwx_domain_mismatch')
  })

  test('a proof for another chain', async () => {
    const { 'sign-in-with-x': header } = await signIn()
    const moved = JSON.stringify({ ...JSON.parse(decoded(header)), chainId: 'eip155:295' })
    const proof = { 'sign-in-with-x': Buffer.from(moved).toString('base64') }
    expect(await readRefusal(proof)).toBe('invalid_siwx_chain_id')
  })

  test('a nonce that the agent made up', async () => {
    const proof = await changedProof({ nonce: 'f'.repeat(32) })
    expect(await readRefusal(proof)).toBe('invalid_siwx_nonce')
  })

  test('a malleated (high-s) signature does not serve a second time', async () => {
    const proof = await signIn()
    expect((await call(proof)).statusCode).toBe(200)
    const { signature, ...rest } = JSON.parse(decoded(proof['sign-in-with-x']))
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
    const v = signature.endsWith('1b') ? '1c' : '1b'
    const twin = JSON.stringify({ ...rest, signature: `${signature.slice(0, 66)}${s}${v}` })
    const header = { 'sign-in-with-x': Buffer.from(twin).toString('base64') }
    expect(await readRefusal(header)).toBe('invalid_siwx_malformed_signature')
  })

  test('the token of another agent, of another deployment, made up, and expired', async () => {
    const token = await tokenAfterSignIn()
    const other = stranger.address.toLowerCase() as Hex
    fakes().contract.windows.set(other, guarded())
    expect(await readRefusal(bearer(token), other)).toBe('token_invalid')
    const secret = Buffer.from(SESSION_SECRET)
    const elsewhere = createSessionKeys(deriveSessionKey(secret, 'https://other.example'))
    const foreign = elsewhere.makeToken(agent, START_SECONDS + 3_600)
    expect(await readRefusal(bearer(foreign))).toBe('token_invalid')
    expect(await readRefusal(bearer('v1'))).toBe('token_invalid')
    await fakes().clock.advanceMsSettled(3_600_000)
    fakes().contract.windows.set(agent, guarded({ expiresAtSeconds: START_SECONDS + 9_999 }))
    expect(await readRefusal(bearer(token))).toBe('token_expired')
  })

  test('a bad token beside a good proof: the proof counts', async () => {
    const answer = await call({ ...bearer('v1'), ...(await signIn()) })
    expect(answer.statusCode).toBe(200)
  })

  test('a rotated key: the account has another one by now', async () => {
    const other = Buffer.from(
      '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
      'hex',
    )
    fakes().accounts.set(agent, {
      accountId: '0.0.5',
      evmAddress: agent,
      key: { kind: 'ecdsa', publicKey: other },
      isDeleted: false,
    })
    const proof = await signIn()
    expect(await readRefusal(proof)).toBe('key_not_current')
    expect(await readRefusal(proof)).toBe('sign_in_already_used')
  })

  test.each([
    ['sign_in_header_too_large', 'A'.repeat(4_097)],
    ['sign_in_header_undecodable', '%%%'],
    ['sign_in_header_undecodable', Buffer.from('['.repeat(3_000)).toString('base64')],
    ['sign_in_header_undecodable', Buffer.from('{"address":{}}').toString('base64')],
  ])('header bombs: %s', async (error, header) => {
    expect(await readRefusal({ 'sign-in-with-x': header })).toBe(error)
  })

  test('two proofs in one request are none', async () => {
    const { 'sign-in-with-x': proof } = await signIn()
    expect(await readRefusal({ 'sign-in-with-x': `${proof}, ${proof}` })).toBe(
      'sign_in_header_undecodable',
    )
  })
})

describe('A17: the key behind the agent', () => {
  test('the mirror node is down: 502, and the same proof serves once it is up', async () => {
    const known = fakes().accounts.get(agent)
    fakes().accounts.set(agent, 'down')
    const proof = await signIn()
    const answer = await call(proof)
    expect(answer.statusCode).toBe(502)
    expect(answer.json()).toEqual({ error: 'ledger_unavailable' })
    if (known !== undefined) fakes().accounts.set(agent, known)
    expect((await call(proof)).statusCode).toBe(200)
  })

  test('is looked up once for a session: a token needs no mirror node', async () => {
    const token = await tokenAfterSignIn()
    fakes().accounts.set(agent, 'down')
    expect((await call(bearer(token))).statusCode).toBe(200)
  })

  test.each([
    ['unknown to the mirror node', undefined],
    ['hollow', { accountId: '0.0.5', evmAddress: agent, key: null, isDeleted: false }],
  ] as const)('an account that is %s never had another key', async (_what, account_) => {
    if (account_ === undefined) fakes().accounts.delete(agent)
    else fakes().accounts.set(agent, account_)
    expect((await call(await signIn())).statusCode).toBe(200)
  })

  test.each([
    ['key_unsupported', { kind: 'ed25519', publicKey: new Uint8Array(32) }, false],
    ['key_unsupported', { kind: 'unsupported' }, false],
    ['key_not_current', null, true],
  ] as const)('%s: %o', async (error, key, isDeleted) => {
    fakes().accounts.set(agent, { accountId: '0.0.5', evmAddress: agent, key, isDeleted })
    expect(await readRefusal(await signIn())).toBe(error)
  })

  test('an agent that is an account number has no key that could prove itself: said at once', async () => {
    const byNumber = `0x${(5_005).toString(16).padStart(40, '0')}` as const
    fakes().contract.windows.set(byNumber, guarded())
    expect(await readRefusal({}, byNumber)).toBe('key_unsupported')
  })
})
