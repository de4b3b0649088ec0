// oxlint-disable unicorn/consistent-function-scoping -- each edit stands beside the rule that it shows
import { AccountId, Hbar, PrivateKey, TransactionId, TransferTransaction } from '@hiero-ledger/sdk'
import { describe, expect, test } from 'vitest'
import type { PaymentRequirement } from '../../payment.ts'
import { SECP256K1_ORDER } from '../../secp256k1.ts'
import { type BodyJson, lineJson } from '../../testing/forged-transfer.fixture.ts'
import {
  FEE_PAYER,
  HederaStandIn,
  PAY_TO,
  PAYER,
  PAYER_KEY,
} from '../../testing/hedera-stand-in.fixture.ts'
import {
  at,
  edPayer,
  hederaKey,
  ledgerWith,
  NOW_SECONDS,
  offer,
  payer,
  refusalReason,
  stranger,
  verify,
  verifyBytes,
  withLines,
} from '../../testing/hedera-verification.fixture.ts'
import { toBase32 } from './account-id.ts'
import { verifyHederaPayment } from './verify-hedera-payment.ts'

describe('valid', () => {
  test('an honest payment, with everything that the gate needs to know about it', async () => {
    expect(await verify({})).toEqual({
      kind: 'valid',
      payment: {
        id: `hedera:testnet/${FEE_PAYER}@${NOW_SECONDS - 8}.000000007`,
        network: 'hedera:testnet',
        asset: '0.0.0',
        amount: 300_000_000n,
        payTo: PAY_TO,
        payer: PAYER,
        payerEvmAddress: payer.evmAddress,
        nonce: `${FEE_PAYER}@${NOW_SECONDS - 8}.000000007`,
        memo: '',
        validFromSeconds: NOW_SECONDS - 8,
        validUntilSeconds: NOW_SECONDS + 172,
      },
    })
  })

  test('frozen and signed by the official SDK for seven nodes', async () => {
    const key = PrivateKey.fromStringECDSA(PAYER_KEY)
    const transaction = new TransferTransaction()
      .addHbarTransfer(PAYER, Hbar.fromTinybars(-300_000_000))
      .addHbarTransfer(PAY_TO, Hbar.fromTinybars(300_000_000))
      .setTransactionId(TransactionId.fromString(`${FEE_PAYER}@${NOW_SECONDS}.5`))
      .setNodeAccountIds([3, 4, 5, 6, 7, 8, 9].map((number) => new AccountId(number)))
      .setTransactionMemo('x402:0xab')
      .freeze()
    await transaction.sign(key)
    expect(await verifyBytes(transaction.toBytes())).toMatchObject({
      kind: 'valid',
      payment: { memo: 'x402:0xab', nonce: `${FEE_PAYER}@${NOW_SECONDS}.000000005` },
    })
  })

  test('signed with Ed25519, by the official SDK', async () => {
    const key = PrivateKey.fromStringED25519('33'.repeat(32))
    const transaction = new TransferTransaction()
      .addHbarTransfer(PAYER, Hbar.fromTinybars(-300_000_000))
      .addHbarTransfer(PAY_TO, Hbar.fromTinybars(300_000_000))
      .setTransactionId(TransactionId.fromString(`${FEE_PAYER}@${NOW_SECONDS}.5`))
      .setNodeAccountIds([new AccountId(3)])
      .freeze()
    await transaction.sign(key)
    const ledger = ledgerWith({ key: hederaKey(edPayer) })
    expect((await verifyBytes(transaction.toBytes(), { ledger })).kind).toBe('valid')
  })

  test('signed with a short key prefix, as the network allows', async () => {
    const editPairs = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, pubKeyPrefix: payer.publicKey.subarray(0, 4) }))
    expect(await refusalReason({ editPairs })).toBe('valid')
  })

  test('signed with a high-s ECDSA signature, which the network accepts', async () => {
    const editPairs = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, ECDSASecp256k1: toHighS(pair['ECDSASecp256k1']) }))
    expect(await refusalReason({ editPairs })).toBe('valid')
  })

  test('payer named by its EVM address: normalised through the mirror', async () => {
    const alias = Buffer.from(payer.evmAddress?.slice(2) ?? '', 'hex')
    const lines = [
      { ...lineJson(PAYER, -300_000_000), accountID: { alias } },
      lineJson(PAY_TO, 300_000_000),
    ]
    expect(await verify({ edit: withLines(lines) })).toMatchObject({
      kind: 'valid',
      payment: { payer: PAYER },
    })
  })

  test('payTo named by its EVM address: normalised through the mirror', async () => {
    const ledger = ledgerWith({ evmAddress: `0x${'77'.repeat(20)}` }, PAY_TO)
    const alias = Buffer.alloc(20, 0x77)
    const lines = [
      lineJson(PAYER, -300_000_000),
      { ...lineJson(PAY_TO, 300_000_000), accountID: { alias } },
    ]
    expect(await refusalReason({ edit: withLines(lines) }, { ledger })).toBe('valid')
  })

  test('payer named by its key alias, as the mirror spells it', async () => {
    const alias = Buffer.concat([Buffer.from('3a21', 'hex'), payer.publicKey])
    const ledger = new HederaStandIn()
    const account = ledger.accounts.get(PAYER)
    if (account === undefined) throw new Error('no payer')
    ledger.accounts.set(toBase32(alias), account)
    const lines = [
      { ...lineJson(PAYER, -300_000_000), accountID: { alias } },
      lineJson(PAY_TO, 300_000_000),
    ]
    expect(await refusalReason({ edit: withLines(lines) }, { ledger })).toBe('valid')
    expect(toBase32(alias)).toMatch(/^HIQ[A-Z2-7]{53}$/)
  })

  test('a hollow account signed by the key of its address (HIP-583)', async () => {
    const evmAddress = payer.evmAddress
    if (evmAddress === undefined) throw new Error('no address')
    const ledger = ledgerWith({ evmAddress, key: null })
    expect(await refusalReason({}, { ledger })).toBe('valid')
  })

  test('a key list signed by all, a threshold key by enough', async () => {
    const keys = [hederaKey(payer), hederaKey(edPayer), hederaKey(stranger)]
    const two = ledgerWith({ key: { kind: 'threshold', threshold: 2, keys } })
    expect(await refusalReason({ signers: [payer, edPayer] }, { ledger: two })).toBe('valid')
    const all = ledgerWith({ key: { kind: 'threshold', threshold: 3, keys } })
    expect(await refusalReason({ signers: [payer, edPayer, stranger] }, { ledger: all })).toBe(
      'valid',
    )
    const nested = ledgerWith({
      key: {
        kind: 'threshold',
        threshold: 1,
        keys: [{ kind: 'unsupported' }, { kind: 'threshold', threshold: 2, keys }],
      },
    })
    expect(await refusalReason({ signers: [edPayer, stranger] }, { ledger: nested })).toBe('valid')
  })

  test('maxTransactionFee of 1 HBAR, the SDK’s default, and a memo of 100 bytes', async () => {
    const edit = (body: BodyJson): BodyJson => ({ ...body, memo: 'é'.repeat(50) })
    expect(await refusalReason({ edit })).toBe('valid')
  })
})

describe('expired', () => {
  test.each([
    [172 - 5, 'valid'],
    [172 - 4, 'expired'],
    [172 + 3_600, 'expired'],
  ])('%i s later it is %s: it can only be found', async (seconds, kind) => {
    expect(await refusalReason({}, { nowSeconds: NOW_SECONDS + seconds })).toBe(kind)
  })

  test('an expired payment is still verified: a forged one is refused, not looked up', async () => {
    const check = { nowSeconds: NOW_SECONDS + 3_600 }
    expect(await refusalReason({ signers: [stranger] }, check)).toBe(at('signed_by_another_key'))
  })
})

describe('refused: what our own requirement says', () => {
  test.each<[string, Partial<PaymentRequirement>, string]>([
    ['another network family', { network: 'eip155:196' }, 'network_mismatch'],
    ['an asset that is neither HBAR nor a token', { asset: '0x5' }, 'invalid_asset'],
    ['an amount of 0', { amount: '0' }, 'invalid_amount'],
    ['an amount beyond int64', { amount: '9223372036854775808' }, 'invalid_amount'],
    ['no fee payer', { extra: {} }, at('missing_fee_payer')],
    ['a payTo that is not an account id', { payTo: `0x${'77'.repeat(20)}` }, at('pay_to')],
    [
      'another transfer method',
      { extra: { feePayer: FEE_PAYER, assetTransferMethod: 'transferExecutor' } },
      'invalid_exact_hedera_unsupported_asset_transfer_method',
    ],
  ])('%s', async (_name, changes, reason) => {
    expect(await refusalReason({}, { requirement: offer(changes) })).toBe(reason)
  })

  test('a payload that is not an object with a transaction', async () => {
    const context = { accounts: new HederaStandIn().directory, nowSeconds: NOW_SECONDS }
    for (const payload of [undefined, null, 5, {}, { transaction: 5 }, []]) {
      const refused = await verifyHederaPayment(payload, offer(), context)
      expect(refused).toEqual({ kind: 'refused', reason: 'invalid_exact_hedera_payload' })
    }
  })
})

/** s becomes n − s: the other signature of the same message that every lenient verifier accepts. */
function toHighS(signature: unknown): Uint8Array {
  const hex = Buffer.from(signature as Uint8Array).toString('hex')
  const s = SECP256K1_ORDER - BigInt(`0x${hex.slice(64)}`)
  return Buffer.from(hex.slice(0, 64) + s.toString(16).padStart(64, '0'), 'hex')
}
