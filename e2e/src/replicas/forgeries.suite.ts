// Invalid payments, each named, made with the network's own SDK.
import { Hbar, NftId, PrivateKey, TokenId } from '@hiero-ledger/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Draft, nowSeconds, PRICE_TINYBAR, tinybar } from '../payment-forge.ts'
import type { ReplicaStack } from '../replica-stack.ts'
import { type AccessTarget, aimAt } from './access-target.ts'

const MALFORMED = 'invalid_exact_hedera_payload_'

/** Runs them at the first process of a stack. */
export function forgeryTests(stackOf: () => ReplicaStack): void {
  let target: AccessTarget

  beforeAll(async () => {
    target = await aimAt(stackOf())
  })

  describe('an invalid payment: 402 with its reason, no money moves, and the honest one is accepted afterwards', () => {
    const drafts: readonly (readonly [string, string, Draft])[] = [
      ['unsigned', `${MALFORMED}signature_invalid`, { key: 'none' }],
      ['wrongly signed', `${MALFORMED}signed_by_another_key`, { key: PrivateKey.generateECDSA() }],
      [
        'an NFT smuggled in',
        MALFORMED,
        {
          fill: (forgery, agent) =>
            target.forge
              .pay(forgery, agent)
              .addNftTransfer(
                new NftId(TokenId.fromString('0.0.777'), 1),
                agent.accountId,
                target.forge.offer.payTo,
              ),
        },
      ],
      [
        'a token smuggled in',
        MALFORMED,
        {
          fill: (forgery, agent) =>
            target.forge
              .pay(forgery, agent)
              .addTokenTransfer('0.0.777', agent.accountId, -1)
              .addTokenTransfer('0.0.777', target.forge.offer.payTo, 1),
        },
      ],
      [
        'an allowance of the fee payer spent',
        MALFORMED,
        {
          fill: (forgery, agent) =>
            forgery
              .addApprovedHbarTransfer(agent.accountId, tinybar(-PRICE_TINYBAR))
              .addHbarTransfer(target.forge.offer.payTo, tinybar(PRICE_TINYBAR)),
        },
      ],
      [
        'the fee payer pays',
        MALFORMED,
        {
          fill: (forgery) =>
            forgery
              .addHbarTransfer(target.forge.offer.extra.feePayer, tinybar(-PRICE_TINYBAR))
              .addHbarTransfer(target.forge.offer.payTo, tinybar(PRICE_TINYBAR)),
        },
      ],
      [
        'a second receiver',
        MALFORMED,
        {
          fill: (forgery, agent) =>
            forgery
              .addHbarTransfer(agent.accountId, tinybar(-PRICE_TINYBAR - 1))
              .addHbarTransfer(target.forge.offer.payTo, tinybar(PRICE_TINYBAR))
              .addHbarTransfer('0.0.98', tinybar(1)),
        },
      ],
      ['many nodes', MALFORMED, { nodes: 11 }],
      [
        'a fee of 100,000 HBAR',
        MALFORMED,
        {
          fill: (forgery, agent) =>
            target.forge.pay(forgery, agent).setMaxTransactionFee(new Hbar(100_000)),
        },
      ],
      ['a wrong amount', `${MALFORMED}amount_mismatch`, { amountTinybar: PRICE_TINYBAR - 1 }],
      ['a wrong payTo', `${MALFORMED}pay_to`, { payTo: '0.0.98' }],
      ['expired', MALFORMED, { validFromSeconds: nowSeconds() - 3_600 }],
      ['not yet valid', MALFORMED, { validFromSeconds: nowSeconds() + 120 }],
    ]

    it.each(drafts)('%s', async (name, reason, draft) => {
      const agent = await target.newAgent(`forger ${name}`)
      const answer = await target.call(agent.evmAddress, await target.forge.headers(agent, draft))
      // An expired payment may have landed: the service checks the ledger, which does not know it.
      expect(answer.status).toBe(402)
      expect(answer.body.error).toMatch(name === 'expired' ? /expired/ : new RegExp(`^${reason}`))
      expect(answer.body.accepts).toHaveLength(1)
      expect(await target.spentTinybar(agent)).toBe(0n)
      expect((await target.call(agent.evmAddress, await target.forge.headers(agent))).status).toBe(
        200,
      )
    })

    const headers: readonly (readonly [
      string,
      string,
      (honest: Uint8Array) => Record<string, string>,
    ])[] = [
      [
        'another payment in the second header',
        'payment_headers_conflict',
        (honest) => ({
          'payment-signature': target.forge.header(honest),
          'x-payment': target.forge.header(honest.subarray(1)),
        }),
      ],
      [
        'oversized',
        'payment_header_too_large',
        (honest) => ({ 'payment-signature': `${target.forge.header(honest)}${'A'.repeat(8_192)}` }),
      ],
      ['undecodable', 'payment_header_undecodable', () => ({ 'payment-signature': '%%%' })],
      [
        'base64url',
        'payment_header_undecodable',
        (honest) => ({
          'payment-signature': `${target.forge.header(honest).replace(/=+$/, '')}-_`,
        }),
      ],
      [
        'a wrong network',
        'payment_requirements_mismatch',
        (honest) => ({
          'payment-signature': target.forge.header(honest, { network: 'hedera:mainnet' }),
        }),
      ],
      [
        'a price of its own',
        'payment_requirements_mismatch',
        (honest) => ({ 'payment-signature': target.forge.header(honest, { amount: '1' }) }),
      ],
      [
        'an unknown field behind the transaction',
        MALFORMED,
        (honest) => ({
          'payment-signature': target.forge.header(
            Buffer.concat([honest, Buffer.from([0xf8, 0x3f, 1])]),
          ),
        }),
      ],
    ]

    it.each(headers)('%s', async (name, reason, make) => {
      const agent = await target.newAgent(`header ${name}`)
      const answer = await target.call(
        agent.evmAddress,
        make(await target.forge.transaction(agent)),
      )
      expect(answer.status).toBe(402)
      expect(answer.body.error).toMatch(new RegExp(`^${reason}`))
      expect(await target.spentTinybar(agent)).toBe(0n)
      expect((await target.call(agent.evmAddress, await target.forge.headers(agent))).status).toBe(
        200,
      )
    })
  })
}
