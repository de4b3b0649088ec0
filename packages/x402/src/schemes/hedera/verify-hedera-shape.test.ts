// oxlint-disable unicorn/consistent-function-scoping -- each forgery stands beside the rule that refuses it
/** What a transaction may consist of: bodies, fields, ids, fee, memo, validity and encoding. */
import proto from '@hiero-ledger/proto'
import Long from 'long'
import { describe, expect, test } from 'vitest'
import {
  accountJson,
  type BodyJson,
  forgeTransfer,
  lineJson,
} from '../../testing/forged-transfer.fixture.ts'
import { FEE_PAYER, HederaStandIn, PAY_TO, PAYER } from '../../testing/hedera-stand-in.fixture.ts'
import {
  at,
  NOW_SECONDS,
  offer,
  payer,
  refusalReason,
  verifyBytes,
  withLines,
} from '../../testing/hedera-verification.fixture.ts'
import { verifyHederaPayment } from './verify-hedera-payment.ts'

describe('refused: §2.4 and §2.1, each attack by name', () => {
  test('different bodies per node', async () => {
    const edit = (body: BodyJson, node: number): BodyJson =>
      node === 0
        ? body
        : { ...body, ...withLines([lineJson(PAYER, -1), lineJson(PAY_TO, 1)])(body) }
    expect(await refusalReason({ nodes: [3, 4], edit })).toBe(at('transaction_invalid_shape'))
  })

  test('different transaction ids per node', async () => {
    const edit = (body: BodyJson, node: number): BodyJson => ({
      ...body,
      transactionID: {
        accountID: accountJson(FEE_PAYER),
        transactionValidStart: { seconds: Long.fromNumber(NOW_SECONDS), nanos: node },
      },
    })
    expect(await refusalReason({ nodes: [3, 4], edit })).toBe(at('transaction_invalid_shape'))
  })

  test('a duplicated node', async () => {
    expect(await refusalReason({ nodes: [3, 3] })).toBe(at('transaction_invalid_shape'))
  })

  test('more than ten nodes', async () => {
    const nodes = Array.from({ length: 11 }, (_, index) => index + 3)
    expect(await refusalReason({ nodes })).toBe(at('transaction_invalid_shape'))
  })

  test('more than 6 KiB', async () => {
    const edit = (body: BodyJson): BodyJson => ({ ...body, memo: 'x'.repeat(7_000) })
    expect(await refusalReason({ edit })).toBe(at('transaction_invalid_shape'))
  })

  test('a fee above 1 HBAR', async () => {
    const edit = (body: BodyJson): BodyJson => ({
      ...body,
      transactionFee: Long.fromNumber(100_000_001),
    })
    expect(await refusalReason({ edit })).toBe(at('fee_too_high'))
  })

  test('high-volume pricing, at the fee payer’s cost', async () => {
    const edit = (body: BodyJson): BodyJson => ({ ...body, highVolume: true })
    expect(await refusalReason({ edit })).toBe(at('transaction_could_not_be_decoded'))
  })

  test('a memo above 100 bytes, or with a zero byte', async () => {
    for (const memo of ['x'.repeat(101), 'a\0b']) {
      expect(await refusalReason({ edit: (body) => ({ ...body, memo }) })).toBe(at('memo_too_long'))
    }
  })

  test('validity of more than 180 s or less than 15 s', async () => {
    for (const seconds of [181, 14, 0, -1]) {
      const transactionValidDuration = { seconds: Long.fromNumber(seconds) }
      expect(await refusalReason({ edit: (body) => ({ ...body, transactionValidDuration }) })).toBe(
        at('validity'),
      )
    }
  })

  test('validity that starts more than 10 s from now', async () => {
    expect(await refusalReason({}, { nowSeconds: NOW_SECONDS - 8 - 10 })).toBe('valid')
    expect(await refusalReason({}, { nowSeconds: NOW_SECONDS - 8 - 11 })).toBe(at('not_yet_valid'))
  })

  test('a bare Transaction instead of a list', async () => {
    const list = proto.proto.TransactionList.decode(await forgeTransfer({ signers: [payer] }))
    const [transaction] = list.transactionList
    const bytes = proto.proto.Transaction.encode(transaction ?? {}).finish()
    expect(await verifyBytes(bytes)).toEqual({
      kind: 'refused',
      reason: at('transaction_could_not_be_decoded'),
    })
  })

  test('an unknown field after the body', async () => {
    expect(await refusalReason({ tail: Buffer.from('f8070a', 'hex') })).toBe(
      at('transaction_could_not_be_decoded'),
    )
  })

  test('a repeated field, of which readers take one or the other', async () => {
    expect(await refusalReason({ tail: Buffer.from('1805', 'hex') })).toBe(
      at('transaction_could_not_be_decoded'),
    )
  })

  test('sloppy base64: white space, missing padding, base64url, spare bits', async () => {
    const bytes = Buffer.from(await forgeTransfer({ signers: [payer] }))
    const text = bytes.toString('base64')
    const ledger = new HederaStandIn()
    for (const transaction of [
      ` ${text}`,
      `${text}\n`,
      text.replace(/=*$/, ''),
      bytes.toString('base64url'),
      `${text}AB==`,
      '',
      '!',
    ]) {
      if (transaction === text) continue
      const context = { accounts: ledger.directory, nowSeconds: NOW_SECONDS }
      const refused = await verifyHederaPayment({ transaction }, offer(), context)
      expect(refused).toEqual({ kind: 'refused', reason: at('transaction_could_not_be_decoded') })
    }
  })

  test('a transaction other than a transfer', async () => {
    const edit = ({ cryptoTransfer: _cryptoTransfer, ...body }: BodyJson): BodyJson => ({
      ...body,
      cryptoDelete: { deleteAccountID: accountJson(PAYER), transferAccountID: accountJson(PAY_TO) },
    })
    expect(await refusalReason({ edit })).toBe(at('contains_non_transfer_ops'))
  })

  test('a transfer wrapped in a schedule', async () => {
    const edit = ({ cryptoTransfer, ...body }: BodyJson): BodyJson => ({
      ...body,
      scheduleCreate: { scheduledTransactionBody: { cryptoTransfer } },
    })
    expect(await refusalReason({ edit })).toBe(at('contains_non_transfer_ops'))
  })

  test('no operation at all', async () => {
    const edit = ({ cryptoTransfer: _cryptoTransfer, ...body }: BodyJson): BodyJson => body
    expect(await refusalReason({ edit })).toBe(at('contains_non_transfer_ops'))
  })

  test('a fee payer other than the one requested', async () => {
    const requirement = offer({ extra: { feePayer: '0.0.5002', paymentFlow: 'upfront' } })
    expect(await refusalReason({}, { requirement })).toBe(at('fee_payer_mismatch'))
  })

  test('a fee payer named by alias', async () => {
    const edit = (body: BodyJson): BodyJson => ({
      ...body,
      transactionID: {
        ...(body['transactionID'] as BodyJson),
        accountID: { alias: Buffer.alloc(20, 1) },
      },
    })
    expect(await refusalReason({ edit })).toBe(at('fee_payer_mismatch'))
  })

  test('a transaction id with a nonce, or of a schedule', async () => {
    for (const extra of [{ nonce: 1 }, { scheduled: true }]) {
      const edit = (body: BodyJson): BodyJson => ({
        ...body,
        transactionID: { ...(body['transactionID'] as BodyJson), ...extra },
      })
      expect(await refusalReason({ edit })).toBe(at('transaction_invalid_shape'))
    }
  })

  test('a memo that is not UTF-8', async () => {
    expect(
      await refusalReason({
        edit: ({ memo: _memo, ...body }) => body,
        tail: Buffer.from('3201ff', 'hex'),
      }),
    ).toBe(at('transaction_could_not_be_decoded'))
  })
})
