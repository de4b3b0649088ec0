// Honest payments that are resent, stolen, raced or unfunded, at three processes that share no memory.
import { PrivateKey } from '@hiero-ledger/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import { PRICE_TINYBAR } from '../payment-forge.ts'
import type { ReplicaStack } from '../replica-stack.ts'
import { type AccessTarget, aimAt } from './access-target.ts'

/** Runs them at the processes of a stack. */
export function doubleSpendTests(stackOf: () => ReplicaStack): void {
  let target: AccessTarget

  beforeAll(async () => {
    target = await aimAt(stackOf())
  })

  describe('one payment, one effect', () => {
    it('replayed: an honest header 100 times at once at one process is one payment and one answer', async () => {
      const agent = await target.newAgent('hundredfold')
      const headers = await target.forge.headers(agent)
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => target.call(agent.evmAddress, headers)),
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      // A copy that arrives after the window opened is served by the window.
      const paid = answers.filter(({ body }) => body.paidThisRequest)
      expect(new Set(paid.map(({ body }) => JSON.stringify(body))).size).toBe(1)
      expect(await target.spentTinybar(agent)).toBe(BigInt(PRICE_TINYBAR))
    })

    it('cross-resource substitution: the header of one agent, sent for another, buys nothing', async () => {
      const [agent, thief] = await Promise.all([
        target.newAgent('copied'),
        target.newAgent('copier'),
      ])
      const headers = await target.forge.headers(agent)
      expect((await target.call(agent.evmAddress, headers)).status).toBe(200)
      const stolen = await Promise.all(
        [0, 1, 2].map((at) => target.call(thief.evmAddress, headers, at)),
      )
      expect(stolen.map(({ status, body }) => [status, body.error])).toEqual(
        [0, 1, 2].map(() => [402, 'payment_already_used']),
      )
    })

    it('two payers racing for one agent at one process: one is charged', async () => {
      const [agent, first, other] = await Promise.all(
        ['raced-for', 'racer-1', 'racer-2'].map((name) => target.newAgent(name)),
      )
      if (!agent || !first || !other) throw new Error('unreachable')
      const answers = await Promise.all(
        [first, other].map(async (payer) =>
          target.call(agent.evmAddress, await target.forge.headers(payer)),
        ),
      )
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      expect(answers.filter(({ body }) => body.paidThisRequest)).toHaveLength(1)
      expect((await target.spentTinybar(first)) + (await target.spentTinybar(other))).toBe(
        BigInt(PRICE_TINYBAR),
      )
    })

    it('allowance overdraft: one purse pays for three agents at three processes at once: only paid calls are served', async () => {
      const payer = await target.newAgent('overdrawn')
      const friends = await Promise.all([1, 2, 3].map((at) => target.newAgent(`friend-${at}`)))
      const answers = await Promise.all(
        friends.map(async (friend, at) =>
          target.call(friend.evmAddress, await target.forge.headers(payer), at),
        ),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(await target.spentTinybar(payer)).toBe(BigInt(PRICE_TINYBAR))
      const later = await Promise.all(friends.map((friend) => target.call(friend.evmAddress)))
      expect(later.filter(({ status }) => status === 200)).toHaveLength(1)
    })

    it('denial of settlement: a payer that empties its purse before settlement is not served', async () => {
      const agent = await target.newAgent('denier')
      const headers = await target.forge.headers(agent)
      await target.stack.devnet.controls.setBalanceTinybar(agent.accountId, 5n)
      expect((await target.call(agent.evmAddress, headers)).status).toBe(402)
      expect((await target.call(agent.evmAddress)).status).toBe(402)
    })
  })

  describe('burning', () => {
    it('a refused payment burns nothing: the same transaction id, honestly signed, is accepted', async () => {
      const agent = await target.newAgent('burnt-header')
      const transactionId = target.forge.newTransactionId()
      const forged = { transactionId, key: PrivateKey.generateECDSA() }
      for (let times = 0; times < 5; times += 1)
        expect(
          (await target.call(agent.evmAddress, await target.forge.headers(agent, forged))).status,
        ).toBe(402)
      expect(
        (await target.call(agent.evmAddress, await target.forge.headers(agent, { transactionId })))
          .status,
      ).toBe(200)
    })

    it('a stranger spends the victim’s transaction id on his own payment: the victim’s money stays, and its next payment is accepted', async () => {
      const [agent, stranger] = await Promise.all([
        target.newAgent('burnt-id'),
        target.newAgent('burner'),
      ])
      const transactionId = target.forge.newTransactionId()
      const own = await target.forge.headers(stranger, { transactionId })
      expect((await target.call(stranger.evmAddress, own)).status).toBe(200)
      const victim = await target.forge.headers(agent, { transactionId })
      for (const at of [0, 1]) {
        const answer = await target.call(agent.evmAddress, victim, at)
        expect([402, 502]).toContain(answer.status)
      }
      expect(await target.spentTinybar(agent)).toBe(0n)
      const next = await target.forge.headers(agent)
      expect((await target.call(agent.evmAddress, next, 2)).status).toBe(200)
      expect(await target.spentTinybar(agent)).toBe(BigInt(PRICE_TINYBAR))
    })
  })
}
