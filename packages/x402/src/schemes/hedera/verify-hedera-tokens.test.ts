// oxlint-disable unicorn/consistent-function-scoping -- each forgery stands beside the rule that refuses it
/** X25: whose tokens may move where. The reference's own cases are among these, by the names of its rules. */
import {
  AccountId,
  PrivateKey,
  TokenId,
  TransactionId,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import Long from 'long'
import { describe, expect, test } from 'vitest'
import { accountJson, type BodyJson, lineJson } from '../../testing/forged-transfer.fixture.ts'
import {
  FEE_PAYER,
  HederaStandIn,
  OTHER_PAYER,
  PAY_TO,
  PAYER,
  PAYER_KEY,
  START_MS,
} from '../../testing/hedera-stand-in.fixture.ts'
import {
  at,
  hederaKey,
  ledgerWith,
  offer,
  payer,
  refusalReason,
  verify,
  verifyBytes,
} from '../../testing/hedera-verification.fixture.ts'

const TOKEN = '0.0.6001'
const requirement = offer({ asset: TOKEN, amount: '1000' })

type Lines = readonly (readonly [account: string, amount: number])[]
type TokenList = { readonly token?: string; readonly lines: Lines; readonly changes?: BodyJson }
const HONEST: Lines = [
  [PAYER, -1_000],
  [PAY_TO, 1_000],
]

const listed = (lines: Lines): BodyJson[] =>
  lines.map(([account, amount]) => lineJson(account, amount))

/** Replaces what an honest body moves. */
const moving =
  (tokens: readonly TokenList[], hbar: Lines = []) =>
  (body: BodyJson): BodyJson => ({
    ...body,
    cryptoTransfer: {
      transfers: { accountAmounts: listed(hbar) },
      tokenTransfers: tokens.map(({ changes, lines, token = TOKEN }) => ({
        token: {
          shardNum: Long.ZERO,
          realmNum: Long.ZERO,
          tokenNum: Long.fromString(token.slice(4)),
        },
        transfers: listed(lines),
        ...changes,
      })),
    },
  })

/** Moves only the token. */
const lines = (...moved: Lines) => moving([{ lines: moved }])
/** Moves HBAR beside an honest payment. */
const beside = (...hbar: Lines) => moving([{ lines: HONEST }], hbar)

const reasonFor = (edit: (body: BodyJson) => BodyJson, ledger = new HederaStandIn()) =>
  refusalReason({ edit }, { requirement, ledger })

const change = (changes: BodyJson): readonly TokenList[] => [{ lines: HONEST, changes }]

test('X25: a transfer of the token is a payment in it', async () => {
  const edit = moving([{ lines: HONEST }])
  expect(await verify({ edit }, { requirement })).toMatchObject({
    kind: 'valid',
    payment: { asset: TOKEN, amount: 1_000n, payer: PAYER, payTo: PAY_TO },
  })
})

/** As the reference client builds one: the SDK's own transfer, frozen for the nodes of testnet, signed by the payer alone. */
test('X25: the reference client’s wire form is a payment, for seven nodes', async () => {
  const seconds = START_MS / 1_000 - 5
  const transaction = new TransferTransaction()
    .addTokenTransfer(TokenId.fromString(TOKEN), AccountId.fromString(PAYER), -1_000)
    .addTokenTransfer(TokenId.fromString(TOKEN), AccountId.fromString(PAY_TO), 1_000)
    .setTransactionId(TransactionId.fromString(`${FEE_PAYER}@${seconds}.000000001`))
    .setNodeAccountIds([3, 4, 5, 6, 7, 8, 9].map((node) => new AccountId(node)))
    .freeze()
  const signed = await transaction.sign(PrivateKey.fromStringECDSA(PAYER_KEY))
  expect(await verifyBytes(signed.toBytes(), { requirement })).toMatchObject({
    kind: 'valid',
    payment: { asset: TOKEN, amount: 1_000n, payer: PAYER },
  })
})

describe('X25: refused, each by the name of its rule', () => {
  test.each<[string, string, ReturnType<typeof moving>]>([
    ['another token', 'asset_mismatch', moving([{ token: '0.0.1234', lines: HONEST }])],
    [
      'a second token',
      'asset_mismatch',
      moving([{ lines: HONEST }, { token: '0.0.77', lines: HONEST }]),
    ],
    ['no token', 'asset_mismatch', moving([])],
    ['HBAR in its place', 'unexpected_hbar_transfers', moving([], HONEST)],
    ['HBAR that does not sum to zero', 'hbar_sum_non_zero', beside([PAYER, -1_000], [PAY_TO, 900])],
    ['HBAR beside the token', 'unexpected_hbar_transfers', beside([PAYER, -10], [PAY_TO, 10])],
    ['the fee payer’s HBAR', 'fee_payer_transferring_hbar', beside([FEE_PAYER, -10], [PAYER, 10])],
    ['tokens that do not sum to zero', 'asset_sum_non_zero', lines([PAYER, -1_000], [PAY_TO, 900])],
    [
      'the fee payer’s tokens',
      'fee_payer_transferring_funds',
      lines([FEE_PAYER, -1], [PAYER, -999], [PAY_TO, 1_000]),
    ],
    [
      'an amount too low, the rest for another',
      'amount_mismatch',
      lines([PAYER, -1_000], [PAY_TO, 999], ['0.0.7002', 1]),
    ],
    ['an amount too high', 'amount_mismatch', lines([PAYER, -1_001], [PAY_TO, 1_001])],
    [
      'a second receiver',
      'extra_positive_transfers',
      lines([PAYER, -1_001], [PAY_TO, 1_000], ['0.0.7002', 1]),
    ],
    ['another payTo', 'pay_to', lines([PAYER, -1_000], ['0.0.66', 1_000])],
    [
      'two senders',
      'unexpected_token_transfers',
      lines([PAYER, -600], [OTHER_PAYER, -400], [PAY_TO, 1_000]),
    ],
    [
      'one account twice',
      'transaction_invalid_shape',
      lines([PAYER, -600], [PAYER, -400], [PAY_TO, 1_000]),
    ],
  ])('%s', async (_name, reason, edit) => {
    expect(await reasonFor(edit)).toBe(at(reason))
  })

  test('X22: an allowance spent (is_approval), under its own name', async () => {
    const transfers = [{ ...lineJson(PAYER, -1_000), isApproval: true }, lineJson(PAY_TO, 1_000)]
    expect(await reasonFor(moving(change({ transfers })))).toBe(at('allowance_transfer'))
  })

  test('an NFT beside the token', async () => {
    const nft = {
      senderAccountID: accountJson(FEE_PAYER),
      receiverAccountID: accountJson('0.0.66'),
      serialNumber: Long.ONE,
    }
    expect(await reasonFor(moving(change({ nftTransfers: [nft] })))).toBe(at('asset_mismatch'))
  })

  test('the payer is the fee payer, under its EVM address', async () => {
    const ledger = ledgerWith(
      { evmAddress: `0x${'55'.repeat(20)}`, key: hederaKey(payer) },
      FEE_PAYER,
    )
    const accountID = { alias: Buffer.alloc(20, 0x55) }
    const transfers = [{ ...lineJson(PAYER, -1_000), accountID }, lineJson(PAY_TO, 1_000)]
    expect(await reasonFor(moving(change({ transfers })), ledger)).toBe(
      at('fee_payer_transferring_funds'),
    )
  })

  // Consensus would refuse these, after the fee payer has paid.
  test.each<[string, readonly TokenList[]]>([
    ['the token in two lists', [{ lines: HONEST.slice(0, 1) }, { lines: HONEST.slice(1) }]],
    ['an empty list of another token', [{ lines: HONEST }, { token: '0.0.77', lines: [] }]],
    ['a number of decimals', change({ expectedDecimals: { value: 2 } })],
  ])('%s', async (_name, tokens) => {
    expect(await reasonFor(moving(tokens))).toBe(at('transaction_invalid_shape'))
  })

  test('a token called 0.0.0, as HBAR is', async () => {
    const edit = moving([
      {
        token: '0.0.0',
        lines: [
          [PAYER, -300_000_000],
          [PAY_TO, 300_000_000],
        ],
      },
    ])
    expect(await refusalReason({ edit })).toBe(at('transaction_invalid_shape'))
  })

  test.each([
    ['an asset that is none', { asset: 'invalid-asset' }, 'invalid_asset'],
    ['a decimal amount', { amount: '1.23' }, 'invalid_amount'],
    [
      'an amount that no mirror node states exactly',
      { amount: '9007199254740992' },
      'invalid_amount',
    ],
    ['no fee payer', { extra: {} }, at('missing_fee_payer')],
    ['a payTo that is no account', { payTo: 'not-an-account' }, at('pay_to')],
  ])('%s', async (_name, changes, reason) => {
    const wanted = { ...requirement, ...changes }
    const edit = moving([{ lines: HONEST }])
    expect(await refusalReason({ edit }, { requirement: wanted })).toBe(reason)
  })
})
