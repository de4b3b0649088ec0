// X25 from the buyer's side: our agent's command at a shop that sells for a token, on a local ledger.
import { systemClock } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runAgentHere } from '../../packages/agent/src/command/run-agent.fixture.ts'
import {
  type DollarFixture,
  startDollarMarket,
} from '../../packages/facilitator/src/testing/dollar-shop.fixture.ts'

let fixture: DollarFixture
let dollars: Awaited<ReturnType<DollarFixture['createToken']>>
let buyer: Awaited<ReturnType<DollarFixture['open']>>
let seller: typeof buyer

beforeAll(async () => {
  ;({ fixture, dollars, buyer, seller } = await startDollarMarket())
})
afterAll(() => fixture.stop())

const run = (words: readonly string[], from = buyer) =>
  runAgentHere({
    arguments: words,
    environment: {
      AGENT_KEY: from.key.toStringRaw(),
      AGENT_ACCOUNT_ID: from.accountId,
      MIRROR_URL: fixture.mirrorUrl,
    },
    clock: systemClock,
  })

/** Buys at a shop of its own, by POST, and says what moved. */
async function buy(caps: (token: string) => readonly string[], from = buyer, to = seller) {
  const shop = await fixture.sell(dollars, to)
  const pending = async () => (await fixture.balance(dollars.id, from)) ?? 0n
  const before = await pending()
  const ended = await run(['buy', shop.url, '--data', '{}', ...caps(dollars.id)], from)
  return { ...ended, moved: (await pending()) - before, runs: shop.runs }
}

const cent = (token: string) => ['--max-token', `${token}=10000`]
const half = (token: string) => ['--max-token', `${token}=9999`]

const NOTHING = { moved: 0n, runs: { prepared: 0, fulfilled: 0 } }

describe('X25: the agent’s command spends a token', () => {
  it('pays within a cap in that token, and prints what it bought', async () => {
    const bought = await buy(cent)
    expect(bought).toMatchObject({ code: 0, err: '', moved: -10_000n, runs: { fulfilled: 1 } })
    expect(bought.out).toMatch(
      new RegExp(`^Paid 10000 base units of ${dollars.id} from ${buyer.accountId}: 0\\.0\\.`),
    )
    expect(bought.out).toContain('"grade": "A"')
  })

  it('signs nothing without a cap, for half the price, or for HBAR, and names the cap', async () => {
    for (const caps of [() => [], half, () => ['--max-hbar', '1000'], () => ['--max-usdc', '5']]) {
      const refused = await buy(caps)
      expect(refused).toMatchObject({ code: 3, err: '', ...NOTHING })
      expect(refused.out).toContain(`--max-token ${dollars.id}=10000`)
    }
  })

  it('says who is not associated, who holds too little, and who cannot be paid, before it signs', async () => {
    const poor = await fixture.open(-1)
    const none = await buy(cent, poor)
    expect(none).toMatchObject({ code: 1, ...NOTHING })
    expect(none.out).toContain(`${poor.accountId} is not associated with ${dollars.id}`)
    await fixture.fund(dollars, poor, 9_999)
    const few = await buy(cent, poor)
    expect(few).toMatchObject({ code: 1, ...NOTHING })
    expect(few.out).toContain(`${poor.accountId} holds 9999 base units`)
    const unpaid = await buy(cent, buyer, await fixture.open(0))
    expect(unpaid).toMatchObject({ code: 1, ...NOTHING })
    expect(unpaid.out).toContain('invalid_exact_hedera_payload_pay_to_not_associated')
  })

  it('gives one object with --json', async () => {
    const { code, out } = await buy((token) => ['--json', ...cent(token)])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      kind: 'bought',
      body: { grade: 'A' },
      payment: { payer: buyer.accountId },
      signedPayment: { amount: '10000', accepted: { asset: dollars.id } },
    })
  })
})
