/** X25: what the ledger says beforehand about a payment in a token. The reference's preflight cases are among these. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ScriptedMirror, scriptedMirror } from '../../testing/scripted-mirror.fixture.ts'
import { checkHederaToken, createTokenJudge } from './judge-token-payment.ts'

const ASSET = '0.0.6001'
const PAYER = '0.0.9001'
const PAY_TO = '0.0.7001'

let fixture: ScriptedMirror

beforeAll(async () => {
  fixture = await scriptedMirror()
})
afterAll(() => fixture.server.close())

type Row = Readonly<Record<string, unknown>>
type Ledger = {
  readonly token?: Row
  readonly payer?: readonly Row[]
  readonly payTo?: readonly Row[]
  readonly autoAssociations?: number
  /** Pages of all that payTo is associated with. */
  readonly pages?: readonly (readonly Row[])[]
}

const PAYMENT = { amount: 1_000n, asset: ASSET, payer: PAYER, payTo: PAY_TO }
const TOKEN = { token_id: ASSET, type: 'FUNGIBLE_COMMON', decimals: '6', pause_status: 'UNPAUSED' }
const HELD = {
  token_id: ASSET,
  balance: 5_000,
  automatic_association: false,
  freeze_status: 'UNFROZEN',
}
const HOLDING = { ...HELD, kyc_status: 'NOT_APPLICABLE' }

const list = (tokens: readonly Row[], next: string | null = null) => ({ tokens, links: { next } })

/** A ledger where all is well, but for what is said. */
function answerAs(ledger: Ledger): void {
  const { autoAssociations = 0, pages = [], payer = [HOLDING], payTo = [HOLDING] } = ledger
  const answers = (url: string): object => {
    if (url === `/api/v1/tokens/${ASSET}`) return { ...TOKEN, ...ledger.token }
    if (url === `/api/v1/accounts/${PAYER}/tokens?token.id=${ASSET}`) return list(payer)
    if (url === `/api/v1/accounts/${PAY_TO}/tokens?token.id=${ASSET}`) return list(payTo)
    if (url.startsWith(`/api/v1/accounts/${PAY_TO}/tokens?`)) {
      const page = Number(/page=(\d)/.exec(url)?.[1] ?? 0)
      const next = `/api/v1/accounts/${PAY_TO}/tokens?page=${page + 1}`
      return list(pages[page] ?? [], page + 1 < pages.length ? next : null)
    }
    return { account: PAY_TO, max_automatic_token_associations: autoAssociations, key: null }
  }
  fixture.server.answer = (_body, url) => ({ status: 200, body: JSON.stringify(answers(url)) })
}

/** Judges a payment of 1,000. */
async function judge(ledger: Ledger): Promise<string | undefined> {
  answerAs(ledger)
  return await createTokenJudge(fixture).foreseeRefusal(PAYMENT)
}

const own = (name: string): string => `invalid_exact_hedera_payload_${name}`
const automatic = { ...HOLDING, automatic_association: true }
const fees = (custom_fees: object): Ledger => ({ token: { custom_fees } })
const fraction = { collector_account_id: '0.0.4242', net_of_transfers: false }

test.each<[string, string | undefined, Ledger]>([
  ['nothing stands against it', undefined, {}],
  ['a payer who holds exactly the amount', undefined, { payer: [{ ...HOLDING, balance: 1_000 }] }],
  ['a payer who holds less', 'insufficient_funds', { payer: [{ ...HOLDING, balance: 999 }] }],
  ['a payer who holds none', 'insufficient_funds', { payer: [] }],
  [
    'a payer who holds another token, which the node names unasked',
    'insufficient_funds',
    { payer: [{ ...HOLDING, token_id: '0.0.6002' }] },
  ],
  [
    'a payer who holds more than JSON states exactly',
    undefined,
    { payer: [{ ...HOLDING, balance: 2 ** 63 }] },
  ],
  ['a payTo without association or slots', own('pay_to_not_associated'), { payTo: [] }],
  ['a payTo that takes any token', undefined, { payTo: [], autoAssociations: -1 }],
  [
    'a payTo with a slot left, by hand associated with others',
    undefined,
    { payTo: [], autoAssociations: 1, pages: [[HOLDING, HOLDING]] },
  ],
  [
    'a payTo whose slots are used up',
    own('pay_to_not_associated'),
    { payTo: [], autoAssociations: 2, pages: [[automatic, automatic]] },
  ],
  [
    'a payTo whose slots are used up on the next page',
    own('pay_to_not_associated'),
    { payTo: [], autoAssociations: 2, pages: [[automatic], [automatic]] },
  ],
  ['a frozen payer', own('token_frozen'), { payer: [{ ...HOLDING, freeze_status: 'FROZEN' }] }],
  [
    'a token whose issuer agrees to each holder, to a payTo that takes any token',
    own('pay_to_not_associated'),
    { payTo: [], autoAssociations: -1, token: { kyc_key: { _type: 'ED25519', key: '00' } } },
  ],
  [
    'a token that freezes each holder at first, to a payTo that takes any token',
    own('pay_to_not_associated'),
    { payTo: [], autoAssociations: -1, token: { freeze_default: true } },
  ],
  ['a frozen payTo', own('token_frozen'), { payTo: [{ ...HOLDING, freeze_status: 'FROZEN' }] }],
  ['a payTo without KYC', own('token_frozen'), { payTo: [{ ...HOLDING, kyc_status: 'REVOKED' }] }],
  ['a paused token', own('token_paused'), { token: { pause_status: 'PAUSED' } }],
  ['a deleted token', 'invalid_asset', { token: { deleted: true } }],
  ['an NFT', 'invalid_asset', { token: { type: 'NON_FUNGIBLE_UNIQUE', decimals: '0' } }],
  ['a fraction from the credit', own('token_takes_fee'), fees({ fractional_fees: [fraction] })],
  [
    'a fraction that the payer pays besides',
    undefined,
    fees({ fractional_fees: [{ ...fraction, net_of_transfers: true }] }),
  ],
  [
    'a fraction that payTo collects, and so does not pay',
    undefined,
    fees({ fractional_fees: [{ ...fraction, collector_account_id: PAY_TO }] }),
  ],
  [
    'a fraction where payTo is the treasury, which pays none',
    undefined,
    { token: { treasury_account_id: PAY_TO, custom_fees: { fractional_fees: [fraction] } } },
  ],
  [
    'a fixed fee in the token that payTo collects, and so gets more',
    own('token_takes_fee'),
    fees({ fixed_fees: [{ collector_account_id: PAY_TO, denominating_token_id: ASSET }] }),
  ],
  [
    'a fixed fee in HBAR that payTo collects',
    undefined,
    fees({ fixed_fees: [{ collector_account_id: PAY_TO, denominating_token_id: null }] }),
  ],
])('X25: %s', async (_name, reason, ledger) => {
  expect(await judge(ledger)).toBe(reason)
})

test('X25: a token that nobody knows', async () => {
  fixture.server.answer = (_body, url) =>
    url.includes('/accounts/')
      ? { status: 200, body: '{"tokens":[]}' }
      : { status: 404, body: '{}' }
  expect(await createTokenJudge(fixture).foreseeRefusal(PAYMENT)).toBe('invalid_asset')
})

test('X25: a mirror node that does not answer decides nothing', async () => {
  fixture.answer({}, 500)
  await expect(createTokenJudge(fixture).foreseeRefusal(PAYMENT)).rejects.toMatchObject({
    name: 'LedgerUnavailable',
  })
})

test('X25: a receiver is asked about once in five seconds, a payer each time, and a failure is not kept', async () => {
  const tokens = createTokenJudge(fixture)
  const foreseeRefusal = () => tokens.foreseeRefusal(PAYMENT)
  const reads = async (times = 1): Promise<number> => {
    fixture.server.requests.length = 0
    await Promise.all(Array.from({ length: times }, foreseeRefusal))
    return fixture.server.requests.length
  }
  answerAs({})
  expect([await reads(3), await reads()]).toEqual([2 + 3, 1])
  fixture.clock.advanceMs(5_000)
  expect(await reads()).toBe(3)
  fixture.clock.advanceMs(5_000)
  fixture.answer({}, 500)
  await expect(foreseeRefusal()).rejects.toThrow('answered 500')
  answerAs({})
  expect(await foreseeRefusal()).toBeUndefined()
})

test('X25: of a payTo with too many tokens to count nothing is assumed, and a node that pages for ever is left', async () => {
  const pages = Array.from({ length: 9 }, () => Array.from({ length: 100 }, () => HOLDING))
  fixture.server.requests.length = 0
  expect(await judge({ payTo: [], autoAssociations: 5, pages })).toBe(own('pay_to_not_associated'))
  expect(fixture.server.requests.length).toBe(3 + 1 + 3)
  fixture.server.answer = (_body, url) => ({
    status: 200,
    body: JSON.stringify(url.includes('/accounts/') ? list([], url) : TOKEN),
  })
  fixture.server.requests.length = 0
  expect(await createTokenJudge(fixture).holds(PAYER, ASSET, 1n)).toBe(false)
  expect(fixture.server.requests.length).toBe(3)
})

test.each<[string, Ledger, object]>([
  ['all is right', {}, { kind: 'right' }],
  [
    'its decimals are others',
    { token: { decimals: '8' } },
    { kind: 'wrong_decimals', decimals: 8 },
  ],
  [
    'payTo is not associated',
    { payTo: [] },
    { kind: 'unpayable', reason: own('pay_to_not_associated') },
  ],
])('X25: a seller asks at start, and %s', async (_name, ledger, check) => {
  answerAs(ledger)
  const token = { network: 'hedera:testnet', id: ASSET, decimals: 6 }
  expect(await checkHederaToken({ token, payTo: PAY_TO }, fixture.mirror)).toEqual(check)
})

test('X25: a seller whose mirror node is down starts', async () => {
  fixture.answer({}, 500)
  const token = { network: 'hedera:testnet', id: ASSET, decimals: 6 }
  const checked = await checkHederaToken({ token, payTo: PAY_TO }, fixture.mirror)
  expect(checked).toMatchObject({ kind: 'unreachable', cause: { name: 'LedgerUnavailable' } })
})
