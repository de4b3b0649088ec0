// Honest payments that are sent again, stolen, raced with or unfunded, at three processes that share no memory.
import { PrivateKey } from '@hiero-ledger/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AccessGround, startAccessGround } from './access-ground.ts'
import { PRICE_TINYBAR } from './payment-forge.ts'

let ground: AccessGround

beforeAll(async () => {
  ground = await startAccessGround(3)
}, 90_000)
afterAll(() => ground.stack.stop(), 40_000)

describe('one payment, one effect', () => {
  it('replayed: an honest header 100 times at once at one process is one payment and one answer', async () => {
    const agent = await ground.newAgent('hundredfold')
    const headers = await ground.forge.headers(agent)
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => ground.call(agent.evmAddress, headers)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    // One that came when the window was open already is served by it.
    const paid = answers.filter(({ body }) => body.paidThisRequest)
    expect(new Set(paid.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(await ground.spentTinybar(agent)).toBe(BigInt(PRICE_TINYBAR))
  }, 60_000)

  it('cross-resource substitution: the header of one agent, sent for another, buys nothing', async () => {
    const [agent, thief] = await Promise.all([ground.newAgent('robbed'), ground.newAgent('thief')])
    const headers = await ground.forge.headers(agent)
    expect((await ground.call(agent.evmAddress, headers)).status).toBe(200)
    const stolen = await Promise.all(
      [0, 1, 2].map((at) => ground.call(thief.evmAddress, headers, at)),
    )
    expect(stolen.map(({ status, body }) => [status, body.error])).toEqual(
      [0, 1, 2].map(() => [402, 'payment_already_used']),
    )
  })

  it('two payers racing for one agent at one process: one is charged', async () => {
    const [agent, one, other] = await Promise.all(
      ['raced-for', 'racer-1', 'racer-2'].map((name) => ground.newAgent(name)),
    )
    if (!agent || !one || !other) throw new Error('unreachable')
    const answers = await Promise.all(
      [one, other].map(async (payer) =>
        ground.call(agent.evmAddress, await ground.forge.headers(payer)),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers.filter(({ body }) => body.paidThisRequest)).toHaveLength(1)
    expect((await ground.spentTinybar(one)) + (await ground.spentTinybar(other))).toBe(
      BigInt(PRICE_TINYBAR),
    )
  })

  it('allowance overdraft: one purse, payments for three agents at three processes at once: served as far as it is paid', async () => {
    const payer = await ground.newAgent('overdrawn')
    const friends = await Promise.all([1, 2, 3].map((at) => ground.newAgent(`friend-${at}`)))
    const answers = await Promise.all(
      friends.map(async (friend, at) =>
        ground.call(friend.evmAddress, await ground.forge.headers(payer), at),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await ground.spentTinybar(payer)).toBe(BigInt(PRICE_TINYBAR))
    const later = await Promise.all(friends.map((friend) => ground.call(friend.evmAddress)))
    expect(later.filter(({ status }) => status === 200)).toHaveLength(1)
  }, 60_000)

  it('denial of settlement: a payer that empties its purse in between is not served', async () => {
    const agent = await ground.newAgent('denier')
    const headers = await ground.forge.headers(agent)
    await ground.stack.devnet.controls.setBalanceTinybar(agent.accountId, 5n)
    expect((await ground.call(agent.evmAddress, headers)).status).toBe(402)
    expect((await ground.call(agent.evmAddress)).status).toBe(402)
  })
})

describe('burning', () => {
  it('a payment that is refused burns nothing: the same transaction id, honestly signed, is taken', async () => {
    const agent = await ground.newAgent('burnt-header')
    const transactionId = ground.forge.newTransactionId()
    const forged = { transactionId, key: PrivateKey.generateECDSA() }
    for (let times = 0; times < 5; times += 1)
      expect(
        (await ground.call(agent.evmAddress, await ground.forge.headers(agent, forged))).status,
      ).toBe(402)
    expect(
      (await ground.call(agent.evmAddress, await ground.forge.headers(agent, { transactionId })))
        .status,
    ).toBe(200)
  })

  it('a stranger who spends the victim’s transaction id on a payment of his own: the victim’s money stays, and its next payment is taken', async () => {
    const [agent, stranger] = await Promise.all([
      ground.newAgent('burnt-id'),
      ground.newAgent('burner'),
    ])
    const transactionId = ground.forge.newTransactionId()
    const own = await ground.forge.headers(stranger, { transactionId })
    expect((await ground.call(stranger.evmAddress, own)).status).toBe(200)
    const victim = await ground.forge.headers(agent, { transactionId })
    for (const at of [0, 1]) {
      const answer = await ground.call(agent.evmAddress, victim, at)
      expect([402, 502]).toContain(answer.status)
    }
    expect(await ground.spentTinybar(agent)).toBe(0n)
    const next = await ground.forge.headers(agent)
    expect((await ground.call(agent.evmAddress, next, 2)).status).toBe(200)
    expect(await ground.spentTinybar(agent)).toBe(BigInt(PRICE_TINYBAR))
  }, 60_000)
})
