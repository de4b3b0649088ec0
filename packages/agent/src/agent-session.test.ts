// A17: what the agent sends to get into its own guarded window, and what it never signs.
import { judgeSignIn } from '@tallystick/x402'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AccessAgentOptions, createAccessAgent } from './access-agent.ts'
import {
  type Answer,
  CONTRACT,
  challenge,
  failed,
  granted,
  hurriedClock,
  PRICE_TINYBAR,
  proofWanted,
  type StandIn,
  signedTransfer,
  startStandIn,
} from './access-stand-in.fixture.ts'
import { agentSigner } from './agent-signer.ts'

const signer = agentSigner({ privateKey: `${'0'.repeat(63)}7`, accountId: '0.0.1004' })
const own = signer.evmAddress.toLowerCase() as `0x${string}`

let service: StandIn

const agent = (options: Partial<AccessAgentOptions> = {}) =>
  createAccessAgent({
    baseUrl: service.baseUrl,
    serviceName: 'svc',
    signer,
    clock: hurriedClock(),
    maxPaymentTinybar: PRICE_TINYBAR,
    ...options,
  })

beforeEach(async () => {
  service = await startStandIn()
})

afterEach(async () => {
  await service.stop()
})

const withToken = (answer: Answer, token: string): Answer =>
  typeof answer === 'string' ? answer : { ...answer, headers: { 'access-token': token } }

const readVerdict = (proof: string | undefined) =>
  judgeSignIn(proof ?? '', {
    baseUrl: service.baseUrl,
    chainId: 'eip155:296',
    address: own,
    nowMs: Date.now(),
    isNonce: () => true,
  })

test('a proof is given where it is asked for, and its token from then on, until that is refused', async () => {
  const wanted = proofWanted(service.baseUrl)
  const ended = proofWanted(service.baseUrl, 'token_expired')
  const free = granted(false)
  service.script(wanted, withToken(free, 'one'), free, ended, withToken(free, 'two'), free)
  const caller = agent()
  for (let call = 0; call < 4; call += 1)
    expect(await caller.access()).toMatchObject({ kind: 'granted', payment: undefined })
  const proof = expect.any(String)
  expect(service.sessions).toEqual([
    {},
    { proof },
    { token: 'Bearer one' },
    { token: 'Bearer one' },
    { proof },
    { token: 'Bearer two' },
  ])
  expect(readVerdict(service.sessions[1]?.proof)).toMatchObject({ kind: 'proved' })
  expect(service.payments.every((payment) => payment === undefined)).toBe(true)
})

test('a proof asked for after a payment was signed: the same request again, with both', async () => {
  service.script(challenge(), proofWanted(service.baseUrl), granted(false))
  const outcome = await agent().access()
  expect(outcome).toMatchObject({ kind: 'granted', signedPayment: { header: service.payments[1] } })
  expect(service.payments[2]).toBe(service.payments[1])
  expect(signedTransfer(service.payments[2]).memo).toBe(`x402:${own}`)
})

test('a proof that is refused is not sent again, and no payment is signed', async () => {
  const refused = proofWanted(service.baseUrl, 'key_not_current')
  service.script(proofWanted(service.baseUrl), refused)
  expect(await agent().access()).toMatchObject({ kind: 'proof-needed', error: 'key_not_current' })
  expect(service.sessions).toHaveLength(2)
})

describe('nothing is signed', () => {
  test.for([
    ['for the window of another agent', { agent: `0x${'ab'.repeat(20)}` }],
    ['without a signer', { agent: `0x${'ab'.repeat(20)}`, signer: undefined }],
    ['on another network', { network: 'hedera:mainnet' }],
  ] as const)('%s', async ([, options]) => {
    service.script(proofWanted(service.baseUrl))
    expect(await agent(options).access()).toMatchObject({
      kind: 'proof-needed',
      error: 'sign_in_required',
    })
    expect(service.sessions).toEqual([{}])
  })

  test('for a service other than the one that was called', async () => {
    service.script(proofWanted('https://other.example'))
    expect(await agent().access()).toMatchObject({ kind: 'proof-needed', domain: 'other.example' })
    expect(service.sessions).toEqual([{}])
  })
})

test('429: calls that come too fast are told from a spent quota', async () => {
  service.script(failed(429, 'too_many_requests', 3))
  expect(await agent().access()).toEqual({ kind: 'too-many-requests', retryAfterSeconds: 3 })
})

test('a guard that cannot be set hides no purchase', async () => {
  service.script(challenge(), granted(true))
  const ledger = { rpcUrl: 'http://127.0.0.1:1', chainId: 296 }
  const outcome = await agent({ ledger }).access()
  expect(outcome).toMatchObject({
    kind: 'granted',
    payment: { amountTinybar: PRICE_TINYBAR },
    guard: { kind: 'guard-failed', reason: expect.stringContaining('The guard cannot be read') },
  })
})

test('a gift is not guarded by its giver', async () => {
  service.script(challenge(), granted(true))
  const ledger = { rpcUrl: 'http://127.0.0.1:1', chainId: 296 }
  const outcome = await agent({ ledger, agent: `0x${'ab'.repeat(20)}` }).access()
  expect(outcome).toMatchObject({ kind: 'granted', paidThisRequest: true })
  expect(outcome).not.toHaveProperty('guard')
})

test('A16: an agent that knows its contract signs for no other, whatever the service names', async () => {
  const ledger = { rpcUrl: 'http://127.0.0.1:1', chainId: 296 }
  const pinned = agent({ ledger, contract: `0x${'d1'.repeat(20)}` })
  const refusal = expect.stringContaining(`The service names contract ${CONTRACT}`)
  for (const sign of [() => pinned.topUp(1n), () => pinned.cancel(), () => pinned.guard(true)])
    await expect(sign()).rejects.toMatchObject({ message: refusal })
  await expect(agent({ ledger }).topUp(1n)).rejects.toThrow('must be told its contract')
  const known = agent({ ledger, contract: `0x${'c0'.repeat(20)}` })
  await expect(known.topUp(1n)).rejects.toThrow('http://127.0.0.1:1')
})
