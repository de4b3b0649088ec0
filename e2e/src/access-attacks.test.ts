// Attacks on a purchase, each by its name, against real processes of the service over HTTP. Payments are made with the
// network's own SDK. An attack has failed when the ledger shows that no money moved and nobody was let in.
import { connect } from 'node:net'
import {
  AccountId,
  Hbar,
  NftId,
  PrivateKey,
  Timestamp,
  TokenId,
  TransactionId,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { accessWindowAbi } from '@tallystick/contracts'
import type { DevnetAccount } from '@tallystick/devnet'
import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ReplicaStack, startReplicaStack } from './replica-stack.ts'

const FUNDS_TINYBAR = 2_000_000_000n
const PURCHASE_TINYBAR = 1_200_000_000
const hbar = (tinybar: number) => Hbar.fromTinybars(tinybar)
const WEIBAR_PER_TINYBAR = 10_000_000_000n
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`
const MALFORMED = 'invalid_exact_hedera_payload_'

let stack: ReplicaStack
let accepted: Accepted

type Accepted = {
  readonly network: string
  readonly amount: string
  readonly payTo: string
  readonly extra: { readonly feePayer: string }
}
type Body = {
  readonly error?: string
  readonly accepts?: readonly Accepted[]
  readonly resource?: { readonly url: string }
  readonly paidThisRequest?: boolean
}
type Answer = { readonly status: number; readonly body: Body; readonly headers: Headers }

beforeAll(async () => {
  stack = await startReplicaStack({ periodSeconds: 600, callsAllowed: 1_000 }, 3)
  const { body } = await call(ZERO_ADDRESS)
  const [offered] = body.accepts ?? []
  if (offered === undefined) throw new Error('nothing is on sale')
  accepted = offered
}, 90_000)
afterAll(() => stack.stop(), 40_000)

async function call(agent: string, headers: Record<string, string> = {}, at = 0): Promise<Answer> {
  const answer = await fetch(`${stack.baseUrls[at]}/api/svc/access?agent=${agent}`, { headers })
  return { status: answer.status, body: (await answer.json()) as Body, headers: answer.headers }
}

const newAgent = (name: string, balanceTinybar = FUNDS_TINYBAR): Promise<DevnetAccount> =>
  stack.devnet.createAccount({ name, balanceTinybar })

async function spentTinybar(agent: DevnetAccount, funds = FUNDS_TINYBAR): Promise<bigint> {
  const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
  return funds - (await client.getBalance({ address: agent.evmAddress })) / WEIBAR_PER_TINYBAR
}

/** A payment as an honest agent makes it, before it is frozen, with what `change` does to it. */
type Change = (transaction: TransferTransaction, agent: DevnetAccount) => unknown
type Draft = {
  readonly change?: Change
  readonly key?: PrivateKey | 'none'
  readonly transactionId?: TransactionId
  readonly amount?: number
  readonly payTo?: string
  readonly validFromSeconds?: number
  readonly nodes?: number
}

const nowSeconds = () => Math.floor(Date.now() / 1_000)

function newId(validFromSeconds = nowSeconds() - 8): TransactionId {
  const nanos = Math.floor(Math.random() * 1_000_000_000)
  const validFrom = new Timestamp(validFromSeconds, nanos)
  return TransactionId.withValidStart(AccountId.fromString(accepted.extra.feePayer), validFrom)
}

const keyOf = (agent: DevnetAccount) => PrivateKey.fromStringECDSA(agent.privateKey)

async function transfer(agent: DevnetAccount, draft: Draft = {}): Promise<Uint8Array> {
  const amount = draft.amount ?? PURCHASE_TINYBAR
  const transaction = new TransferTransaction()
    .setTransactionId(draft.transactionId ?? newId(draft.validFromSeconds))
    .setNodeAccountIds(Array.from({ length: draft.nodes ?? 1 }, (_, at) => new AccountId(3 + at)))
    .setTransactionValidDuration(170)
  if (draft.change === undefined) pay(transaction, agent, { amount, payTo: draft.payTo })
  else draft.change(transaction, agent)
  transaction.freeze()
  if (draft.key !== 'none') await transaction.sign(draft.key ?? keyOf(agent))
  return transaction.toBytes()
}

function pay(
  transaction: TransferTransaction,
  agent: DevnetAccount,
  { amount = PURCHASE_TINYBAR, payTo }: { amount?: number; payTo?: string | undefined } = {},
): TransferTransaction {
  return transaction
    .addHbarTransfer(agent.accountId, hbar(-amount))
    .addHbarTransfer(payTo ?? accepted.payTo, hbar(amount))
}

const headerOf = (bytes: Uint8Array, change: object = {}): string =>
  Buffer.from(
    JSON.stringify({
      x402Version: 2,
      accepted: { ...accepted, ...change },
      payload: { transaction: Buffer.from(bytes).toString('base64') },
    }),
  ).toString('base64')

const paymentBy = async (agent: DevnetAccount, draft: Draft = {}) => ({
  'payment-signature': headerOf(await transfer(agent, draft)),
})

describe('a payment that is none: 402 with its reason, no money moves, and the honest one is taken afterwards', () => {
  const drafts: readonly (readonly [string, string, Draft])[] = [
    ['unsigned', `${MALFORMED}signature_invalid`, { key: 'none' }],
    ['wrongly signed', `${MALFORMED}signature_invalid`, { key: PrivateKey.generateECDSA() }],
    [
      'an NFT smuggled in',
      MALFORMED,
      {
        change: (one, agent) =>
          pay(one, agent).addNftTransfer(
            new NftId(TokenId.fromString('0.0.777'), 1),
            agent.accountId,
            accepted.payTo,
          ),
      },
    ],
    [
      'a token smuggled in',
      MALFORMED,
      {
        change: (one, agent) =>
          pay(one, agent)
            .addTokenTransfer('0.0.777', agent.accountId, -1)
            .addTokenTransfer('0.0.777', accepted.payTo, 1),
      },
    ],
    [
      'an allowance of the fee payer spent',
      MALFORMED,
      {
        change: (one, agent) =>
          one
            .addApprovedHbarTransfer(agent.accountId, hbar(-PURCHASE_TINYBAR))
            .addHbarTransfer(accepted.payTo, hbar(PURCHASE_TINYBAR)),
      },
    ],
    [
      'the fee payer pays',
      MALFORMED,
      {
        change: (one) =>
          one
            .addHbarTransfer(accepted.extra.feePayer, hbar(-PURCHASE_TINYBAR))
            .addHbarTransfer(accepted.payTo, hbar(PURCHASE_TINYBAR)),
      },
    ],
    [
      'a second receiver',
      MALFORMED,
      {
        change: (one, agent) =>
          one
            .addHbarTransfer(agent.accountId, hbar(-PURCHASE_TINYBAR - 1))
            .addHbarTransfer(accepted.payTo, hbar(PURCHASE_TINYBAR))
            .addHbarTransfer('0.0.98', hbar(1)),
      },
    ],
    ['many nodes', MALFORMED, { nodes: 11 }],
    [
      'a fee of 100,000 HBAR',
      MALFORMED,
      { change: (one, agent) => pay(one, agent).setMaxTransactionFee(new Hbar(100_000)) },
    ],
    ['a wrong amount', `${MALFORMED}amount_mismatch`, { amount: PURCHASE_TINYBAR - 1 }],
    ['a wrong payTo', `${MALFORMED}pay_to`, { payTo: '0.0.98' }],
    ['expired', MALFORMED, { validFromSeconds: nowSeconds() - 3_600 }],
    ['not yet valid', MALFORMED, { validFromSeconds: nowSeconds() + 120 }],
  ]

  it.each(drafts)('%s', async (name, reason, draft) => {
    const agent = await newAgent(`forger ${name}`)
    const answer = await call(agent.evmAddress, await paymentBy(agent, draft))
    // One that has expired may have landed once: the ledger is asked, and does not know it.
    expect(answer.status).toBe(402)
    expect(answer.body.error).toMatch(name === 'expired' ? /expired/ : new RegExp(`^${reason}`))
    expect(answer.body.accepts).toHaveLength(1)
    expect(await spentTinybar(agent)).toBe(0n)
    expect((await call(agent.evmAddress, await paymentBy(agent))).status).toBe(200)
  })

  const headers: readonly (readonly [
    string,
    string,
    (honest: Uint8Array) => Record<string, string>,
  ])[] = [
    [
      'both payment headers',
      'payment_headers_conflict',
      (honest) => ({ 'payment-signature': headerOf(honest), 'x-payment': headerOf(honest) }),
    ],
    [
      'oversized',
      'payment_header_too_large',
      (honest) => ({ 'payment-signature': `${headerOf(honest)}${'A'.repeat(8_192)}` }),
    ],
    ['undecodable', 'payment_header_undecodable', () => ({ 'payment-signature': '%%%' })],
    [
      'base64url',
      'payment_header_undecodable',
      (honest) => ({ 'payment-signature': `${headerOf(honest).replace(/=+$/, '')}-_` }),
    ],
    [
      'a wrong network',
      'payment_requirements_mismatch',
      (honest) => ({ 'payment-signature': headerOf(honest, { network: 'hedera:mainnet' }) }),
    ],
    [
      'a price of its own',
      'payment_requirements_mismatch',
      (honest) => ({ 'payment-signature': headerOf(honest, { amount: '1' }) }),
    ],
    [
      'an unknown field behind the transaction',
      MALFORMED,
      (honest) => ({
        'payment-signature': headerOf(Buffer.concat([honest, Buffer.from([0xf8, 0x3f, 1])])),
      }),
    ],
  ]

  it.each(headers)('%s', async (name, reason, make) => {
    const agent = await newAgent(`header ${name}`)
    const answer = await call(agent.evmAddress, make(await transfer(agent)))
    expect(answer.status).toBe(402)
    expect(answer.body.error).toMatch(new RegExp(`^${reason}`))
    expect(await spentTinybar(agent)).toBe(0n)
    expect((await call(agent.evmAddress, await paymentBy(agent))).status).toBe(200)
  })
})

describe('one payment, one effect', () => {
  it('replayed: an honest header 100 times at once at one process is one payment and one answer', async () => {
    const agent = await newAgent('hundredfold')
    const headers = await paymentBy(agent)
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => call(agent.evmAddress, headers)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await spentTinybar(agent)).toBe(BigInt(PURCHASE_TINYBAR))
  }, 60_000)

  it('cross-resource substitution: the header of one agent, sent for another, buys nothing', async () => {
    const [agent, thief] = await Promise.all([newAgent('robbed'), newAgent('thief')])
    const headers = await paymentBy(agent)
    expect((await call(agent.evmAddress, headers)).status).toBe(200)
    const stolen = await Promise.all([0, 1, 2].map((at) => call(thief.evmAddress, headers, at)))
    expect(stolen.map(({ status, body }) => [status, body.error])).toEqual(
      [0, 1, 2].map(() => [402, 'payment_already_used']),
    )
  })

  it('two payers racing for one agent at one process: one is charged', async () => {
    const [agent, one, other] = await Promise.all(
      ['raced-for', 'racer-1', 'racer-2'].map((name) => newAgent(name)),
    )
    if (!agent || !one || !other) throw new Error('unreachable')
    const answers = await Promise.all(
      [one, other].map(async (payer) => call(agent.evmAddress, await paymentBy(payer))),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers.filter(({ body }) => body.paidThisRequest)).toHaveLength(1)
    expect((await spentTinybar(one)) + (await spentTinybar(other))).toBe(BigInt(PURCHASE_TINYBAR))
  })

  it('allowance overdraft: one purse, payments for three agents at three processes at once: served as far as it is paid', async () => {
    const payer = await newAgent('overdrawn')
    const friends = await Promise.all([1, 2, 3].map((at) => newAgent(`friend-${at}`)))
    const answers = await Promise.all(
      friends.map(async (friend, at) => call(friend.evmAddress, await paymentBy(payer), at)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await spentTinybar(payer)).toBe(BigInt(PURCHASE_TINYBAR))
    const later = await Promise.all(friends.map((friend) => call(friend.evmAddress)))
    expect(later.filter(({ status }) => status === 200)).toHaveLength(1)
  }, 60_000)

  it('denial of settlement: a payer that empties its purse in between is not served', async () => {
    const agent = await newAgent('denier')
    const headers = await paymentBy(agent)
    await stack.devnet.controls.setBalanceTinybar(agent.accountId, 5n)
    expect((await call(agent.evmAddress, headers)).status).toBe(402)
    expect((await call(agent.evmAddress)).status).toBe(402)
  })
})

describe('burning', () => {
  it('a payment that is refused burns nothing: the same transaction id, honestly signed, is taken', async () => {
    const agent = await newAgent('burnt-header')
    const transactionId = newId()
    const forged = { transactionId, key: PrivateKey.generateECDSA() }
    for (let times = 0; times < 5; times += 1)
      expect((await call(agent.evmAddress, await paymentBy(agent, forged))).status).toBe(402)
    expect((await call(agent.evmAddress, await paymentBy(agent, { transactionId }))).status).toBe(
      200,
    )
  })

  it('a stranger who spends the victim’s transaction id on a payment of his own: the victim’s money stays, and its next payment is taken', async () => {
    const [agent, stranger] = await Promise.all([newAgent('burnt-id'), newAgent('burner')])
    const transactionId = newId()
    const own = await paymentBy(stranger, { transactionId })
    expect((await call(stranger.evmAddress, own)).status).toBe(200)
    const victim = await paymentBy(agent, { transactionId })
    for (const at of [0, 1]) {
      const answer = await call(agent.evmAddress, victim, at)
      expect([402, 502]).toContain(answer.status)
    }
    expect(await spentTinybar(agent)).toBe(0n)
    const next = await paymentBy(agent)
    expect((await call(agent.evmAddress, next, 2)).status).toBe(200)
    expect(await spentTinybar(agent)).toBe(BigInt(PURCHASE_TINYBAR))
  }, 60_000)
})

/** Sends a request line as it is; what came back. */
const raw = (head: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(stack.baseUrls[0] ?? '')
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    })
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8')
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })

describe('path confusion: no request target reaches the paid handler unpaid', () => {
  it.each([
    ['HEAD', 'HEAD /api/svc/access'],
    ['HEAD in absolute form', 'HEAD http://x/api/svc/access'],
    ['absolute form', 'GET http://evil.example/api/svc/access'],
    ['an encoded letter', 'GET /api/svc/%61ccess'],
    ['a double slash', 'GET //api/svc/access'],
    ['a double slash inside', 'GET /api//svc/access'],
    ['an encoded slash', 'GET /api%2Fsvc/access'],
    ['a trailing slash', 'GET /api/svc/access/'],
    ['an encoded line end', 'GET /api/svc/access%0a'],
    ['a dot segment', 'GET /api/svc/x/../access'],
    ['a parameter', 'GET /api/svc/access;a=b'],
    ['malformed percent', 'GET /%zz/api/svc/access'],
    ['the method in another case', 'get /api/svc/access'],
    ['POST', 'POST /api/svc/access'],
  ])('%s', async (_name, head) => {
    const agent = `0x${'ab'.repeat(20)}`
    const answer = await raw(`${head}?agent=${agent}`)
    const status = Number(answer.split(' ')[1])
    expect([400, 402, 404, 405], answer).toContain(status)
    // A challenge shows by example what a call would be answered: the answer itself is none.
    const [, body = ''] = answer.split('\r\n\r\n')
    expect(body).not.toMatch(/^\{"access"/)
  })
})

describe('what an answer says', () => {
  it('the resource’s address is the service’s own, whatever Host a proxy or a stranger sends', async () => {
    const { body } = await call(ZERO_ADDRESS, { host: 'evil.example', 'x-forwarded-proto': 'ftp' })
    expect(body.resource?.url).toBe(`${stack.baseUrls[0]}/api/svc/access`)
  })

  it('CDN cache leak: neither challenge nor paid answer may be stored, and both are readable across origins', async () => {
    const agent = await newAgent('cached')
    const origin = { origin: 'https://page.example' }
    const answers = [
      await call(agent.evmAddress, origin),
      await call(agent.evmAddress, { ...origin, ...(await paymentBy(agent)) }),
      await call(agent.evmAddress, origin),
    ]
    expect(answers.map(({ status }) => status)).toEqual([402, 200, 200])
    for (const { headers } of answers) {
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('access-control-expose-headers')).toMatch(/PAYMENT-RE/i)
    }
  })
})

describe('odd agents', () => {
  it('the zero address is an agent like any other: a gift for it opens a window and is counted', async () => {
    const giver = await newAgent('giver-to-zero')
    expect((await call(ZERO_ADDRESS)).status).toBe(402)
    const gift = await call(
      ZERO_ADDRESS,
      await paymentBy(giver, {
        change: (one, agent) => pay(one, agent).setTransactionMemo(`x402:${ZERO_ADDRESS}`),
      }),
    )
    expect(gift).toMatchObject({ status: 200, body: { paidThisRequest: true } })
    expect((await call(ZERO_ADDRESS)).body.paidThisRequest).toBe(false)
    const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
    const window = await client.readContract({
      abi: accessWindowAbi,
      address: stack.contract,
      functionName: 'windowOf',
      args: [ZERO_ADDRESS as `0x${string}`, BigInt(stack.devnet.nowSeconds())],
    })
    expect(window.callsUsed).toBeGreaterThanOrEqual(1)
  })
})
