// oxlint-disable unicorn/consistent-function-scoping -- each forgery stands beside the rule that refuses it
/** Whose money may move where: assets, lines, payer, receiver and fee payer. */
import Long from 'long'
import { describe, expect, test } from 'vitest'
import { accountJson, type BodyJson, lineJson } from '../../testing/forged-transfer.fixture.ts'
import { FEE_PAYER, OTHER_PAYER, PAY_TO, PAYER } from '../../testing/hedera-stand-in.fixture.ts'
import {
  at,
  hederaKey,
  ledgerWith,
  payer,
  refusalReason,
  withLines,
} from '../../testing/hedera-verification.fixture.ts'

describe('refused: §2.4 and §2.1, each attack by name', () => {
  test('an NFT transfer added', async () => {
    const nft = {
      senderAccountID: accountJson(FEE_PAYER),
      receiverAccountID: accountJson('0.0.66'),
      serialNumber: Long.ONE,
    }
    expect(await refusalReason({ edit: withTokens({ nftTransfers: [nft] }) })).toBe(
      at('asset_mismatch'),
    )
  })

  test('a token transfer added', async () => {
    const transfers = [lineJson(PAYER, -5), lineJson(PAY_TO, 5)]
    expect(await refusalReason({ edit: withTokens({ transfers }) })).toBe(at('asset_mismatch'))
  })

  test('X22: an allowance spent (is_approval), under its own name', async () => {
    const lines = [
      { ...lineJson(PAYER, -300_000_000), isApproval: true },
      lineJson(PAY_TO, 300_000_000),
    ]
    expect(await refusalReason({ edit: withLines(lines) })).toBe(at('allowance_transfer'))
  })

  test('an allowance hook called on the way', async () => {
    const hook = { hookId: Long.ONE, evmHookCall: { gasLimit: Long.fromNumber(1_000_000) } }
    const lines = [
      { ...lineJson(PAYER, -300_000_000), preTxAllowanceHook: hook },
      lineJson(PAY_TO, 300_000_000),
    ]
    expect(await refusalReason({ edit: withLines(lines) })).toBe(
      at('transaction_could_not_be_decoded'),
    )
  })

  test('the payer is the fee payer', async () => {
    const lines = [lineJson(FEE_PAYER, -300_000_000), lineJson(PAY_TO, 300_000_000)]
    expect(await refusalReason({ edit: withLines(lines) })).toBe(at('fee_payer_transferring_hbar'))
  })

  test('the payer is the fee payer, under its EVM address', async () => {
    const ledger = ledgerWith(
      { evmAddress: `0x${'55'.repeat(20)}`, key: hederaKey(payer) },
      FEE_PAYER,
    )
    const accountID = { alias: Buffer.alloc(20, 0x55) }
    const lines = [{ ...lineJson(PAYER, -300_000_000), accountID }, lineJson(PAY_TO, 300_000_000)]
    expect(await refusalReason({ edit: withLines(lines) }, { ledger })).toBe(
      at('fee_payer_transferring_hbar'),
    )
  })

  test.each<[string, string, BodyJson[]]>([
    [
      'HBAR that does not sum to zero',
      'hbar_sum_non_zero',
      [lineJson(PAYER, -300_000_000), lineJson(PAY_TO, 300_000_001)],
    ],
    ['an amount too low', 'amount_mismatch', [lineJson(PAYER, -1), lineJson(PAY_TO, 1)]],
    [
      'an amount too high',
      'amount_mismatch',
      [lineJson(PAYER, -300_000_001), lineJson(PAY_TO, 300_000_001)],
    ],
    ['another payTo', 'pay_to', [lineJson(PAYER, -300_000_000), lineJson('0.0.66', 300_000_000)]],
    [
      'a second receiver',
      'extra_positive_transfers',
      [lineJson(PAYER, -300_000_001), lineJson(PAY_TO, 300_000_000), lineJson('0.0.66', 1)],
    ],
    [
      'two senders',
      'unexpected_hbar_transfers',
      [lineJson(PAYER, -1), lineJson(OTHER_PAYER, -299_999_999), lineJson(PAY_TO, 300_000_000)],
    ],
    [
      'a zero line',
      'unexpected_hbar_transfers',
      [lineJson(PAYER, -300_000_000), lineJson('0.0.66', 0), lineJson(PAY_TO, 300_000_000)],
    ],
    [
      'one account twice',
      'transaction_invalid_shape',
      [lineJson(PAYER, -1), lineJson(PAYER, -299_999_999), lineJson(PAY_TO, 300_000_000)],
    ],
    ['no lines', 'unexpected_hbar_transfers', []],
  ])('%s', async (_name, reason, lines) => {
    expect(await refusalReason({ edit: withLines(lines) })).toBe(at(reason))
  })

  test('payTo under an address that no account has: the facilitator would pay for creating it', async () => {
    const accountID = { alias: Buffer.alloc(20, 0x99) }
    const lines = [lineJson(PAYER, -300_000_000), { ...lineJson(PAY_TO, 300_000_000), accountID }]
    expect(await refusalReason({ edit: withLines(lines) })).toBe(at('pay_to_alias_not_allowed'))
  })

  test('an alias that no account can have', async () => {
    const accountID = { alias: Buffer.alloc(21, 0x99) }
    const lines = [{ ...lineJson(PAYER, -300_000_000), accountID }, lineJson(PAY_TO, 300_000_000)]
    expect(await refusalReason({ edit: withLines(lines) })).toBe(
      at('transaction_could_not_be_decoded'),
    )
  })

  test('somebody else’s account under an address in place of payTo', async () => {
    const ledger = ledgerWith({ evmAddress: `0x${'88'.repeat(20)}` }, '0.0.66')
    const accountID = { alias: Buffer.alloc(20, 0x88) }
    const lines = [lineJson(PAYER, -300_000_000), { ...lineJson(PAY_TO, 300_000_000), accountID }]
    expect(await refusalReason({ edit: withLines(lines) }, { ledger })).toBe(at('pay_to'))
  })
})

function withTokens(tokens: BodyJson): (body: BodyJson) => BodyJson {
  return (body) => {
    const transfer = body['cryptoTransfer'] as BodyJson
    const token = { shardNum: Long.ZERO, realmNum: Long.ZERO, tokenNum: Long.fromNumber(77) }
    return { ...body, cryptoTransfer: { ...transfer, tokenTransfers: [{ token, ...tokens }] } }
  }
}
