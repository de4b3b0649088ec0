// oxlint-disable unicorn/consistent-function-scoping -- each forgery stands beside the rule that refuses it
import proto from '@hiero-ledger/proto'
import { AccountId, Hbar, PrivateKey, TransactionId, TransferTransaction } from '@hiero-ledger/sdk'
import Long from 'long'
import secp256k1 from 'secp256k1'
import { describe, expect, test } from 'vitest'
import type { PaymentRequirement } from '../../payment-requirement.ts'
import type { Verification } from '../../payment-scheme.ts'
import {
  accountOf,
  type BodyJson,
  type Forgery,
  forgeTransfer,
  lineOf,
} from '../../testing/forged-transfer.ts'
import {
  FEE_PAYER,
  HederaStandIn,
  OTHER_PAYER,
  PAY_TO,
  PAYER,
  PAYER_KEY,
  START_MS,
  standInTerms,
} from '../../testing/hedera-stand-in.ts'
import type { LedgerAccount } from './account-directory.ts'
import { longZeroAddress, mirrorNameOf } from './account-id.ts'
import type { HederaKey } from './hedera-key.ts'
import { type HederaSigner, hederaSigner } from './hedera-signer.ts'
import { verifyHederaPayment } from './verify-hedera-payment.ts'

const NOW_SECONDS = START_MS / 1_000
const payer = hederaSigner({ accountId: PAYER, privateKey: PAYER_KEY })
const edPayer = hederaSigner({ accountId: PAYER, privateKey: '33'.repeat(32), keyKind: 'ed25519' })
const stranger = hederaSigner({ accountId: '0.0.66', privateKey: '66'.repeat(32) })
const at = (name: string): string => `invalid_exact_hedera_payload_${name}`

function offer(changes: Partial<PaymentRequirement> = {}): PaymentRequirement {
  const [requirement] = standInTerms().requirements
  if (requirement === undefined) throw new Error('no requirement')
  return { ...requirement, ...changes }
}

type Check = {
  readonly ledger?: HederaStandIn
  readonly requirement?: PaymentRequirement
  readonly nowSeconds?: number
}

async function verifyBytes(bytes: Uint8Array, check: Check = {}): Promise<Verification> {
  const { ledger = new HederaStandIn(), nowSeconds = NOW_SECONDS, requirement = offer() } = check
  const payload = { transaction: Buffer.from(bytes).toString('base64') }
  return await verifyHederaPayment(payload, requirement, { accounts: ledger.directory, nowSeconds })
}

async function verify(forgery: Partial<Forgery>, check: Check = {}): Promise<Verification> {
  return await verifyBytes(await forgeTransfer({ signers: [payer], ...forgery }), check)
}

async function reasonOf(forgery: Partial<Forgery>, check: Check = {}): Promise<string> {
  const verification = await verify(forgery, check)
  return verification.kind === 'refused' ? verification.reason : verification.kind
}

function withLines(lines: readonly BodyJson[]): (body: BodyJson) => BodyJson {
  return (body) => ({ ...body, cryptoTransfer: { transfers: { accountAmounts: lines } } })
}

function ledgerWith(account: Partial<LedgerAccount>, accountId = PAYER): HederaStandIn {
  const ledger = new HederaStandIn()
  const evmAddress = longZeroAddress(accountId)
  ledger.accounts.set(accountId, { accountId, evmAddress, key: null, isDeleted: false, ...account })
  return ledger
}

const keyOf = ({ keyKind: kind, publicKey }: HederaSigner): HederaKey => ({ kind, publicKey })

describe('valid', () => {
  test('an honest payment, with everything that the gate needs to know of it', async () => {
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
    const ledger = ledgerWith({ key: keyOf(edPayer) })
    expect((await verifyBytes(transaction.toBytes(), { ledger })).kind).toBe('valid')
  })

  test('signed with a short key prefix, as the network allows', async () => {
    const editPairs = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, pubKeyPrefix: payer.publicKey.subarray(0, 4) }))
    expect(await reasonOf({ editPairs })).toBe('valid')
  })

  test('signed with a high-s ECDSA signature, which the network accepts', async () => {
    const editPairs = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, ECDSASecp256k1: toHighS(pair['ECDSASecp256k1']) }))
    expect(await reasonOf({ editPairs })).toBe('valid')
  })

  test('payer named by its EVM address: normalised through the mirror', async () => {
    const alias = Buffer.from(payer.evmAddress?.slice(2) ?? '', 'hex')
    const lines = [
      { ...lineOf(PAYER, -300_000_000), accountID: { alias } },
      lineOf(PAY_TO, 300_000_000),
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
      lineOf(PAYER, -300_000_000),
      { ...lineOf(PAY_TO, 300_000_000), accountID: { alias } },
    ]
    expect(await reasonOf({ edit: withLines(lines) }, { ledger })).toBe('valid')
  })

  test('payer named by its key alias, as the mirror spells it', async () => {
    const alias = Buffer.concat([Buffer.from('3a21', 'hex'), payer.publicKey])
    const ledger = new HederaStandIn()
    const account = ledger.accounts.get(PAYER)
    if (account === undefined) throw new Error('no payer')
    ledger.accounts.set(mirrorNameOf({ kind: 'alias', alias }), account)
    const lines = [
      { ...lineOf(PAYER, -300_000_000), accountID: { alias } },
      lineOf(PAY_TO, 300_000_000),
    ]
    expect(await reasonOf({ edit: withLines(lines) }, { ledger })).toBe('valid')
    expect(mirrorNameOf({ kind: 'alias', alias })).toMatch(/^HIQ[A-Z2-7]{53}$/)
  })

  test('a hollow account signed by the key of its address (HIP-583)', async () => {
    const evmAddress = payer.evmAddress
    if (evmAddress === undefined) throw new Error('no address')
    const ledger = ledgerWith({ evmAddress, key: null })
    expect(await reasonOf({}, { ledger })).toBe('valid')
  })

  test('a key list signed by all, a threshold key by enough', async () => {
    const keys = [keyOf(payer), keyOf(edPayer), keyOf(stranger)]
    const two = ledgerWith({ key: { kind: 'threshold', threshold: 2, keys } })
    expect(await reasonOf({ signers: [payer, edPayer] }, { ledger: two })).toBe('valid')
    const all = ledgerWith({ key: { kind: 'threshold', threshold: 3, keys } })
    expect(await reasonOf({ signers: [payer, edPayer, stranger] }, { ledger: all })).toBe('valid')
    const nested = ledgerWith({
      key: {
        kind: 'threshold',
        threshold: 1,
        keys: [{ kind: 'unsupported' }, { kind: 'threshold', threshold: 2, keys }],
      },
    })
    expect(await reasonOf({ signers: [edPayer, stranger] }, { ledger: nested })).toBe('valid')
  })

  test('maxTransactionFee of 1 HBAR, the SDK’s default, and a memo of 100 bytes', async () => {
    const edit = (body: BodyJson): BodyJson => ({ ...body, memo: 'é'.repeat(50) })
    expect(await reasonOf({ edit })).toBe('valid')
  })
})

describe('expired', () => {
  test.each([
    [172 - 5, 'valid'],
    [172 - 4, 'expired'],
    [172 + 3_600, 'expired'],
  ])('%i s later it is %s: it can only be found', async (seconds, kind) => {
    expect(await reasonOf({}, { nowSeconds: NOW_SECONDS + seconds })).toBe(kind)
  })

  test('an expired payment is still verified: a forged one is refused, not looked up', async () => {
    const check = { nowSeconds: NOW_SECONDS + 3_600 }
    expect(await reasonOf({ signers: [stranger] }, check)).toBe(at('signature_invalid'))
  })
})

describe('refused: §2.4 and §2.1, each attack by name', () => {
  test('different bodies per node', async () => {
    const edit = (body: BodyJson, node: number): BodyJson =>
      node === 0 ? body : { ...body, ...withLines([lineOf(PAYER, -1), lineOf(PAY_TO, 1)])(body) }
    expect(await reasonOf({ nodes: [3, 4], edit })).toBe(at('transaction_invalid_shape'))
  })

  test('different transaction ids per node', async () => {
    const edit = (body: BodyJson, node: number): BodyJson => ({
      ...body,
      transactionID: {
        accountID: accountOf(FEE_PAYER),
        transactionValidStart: { seconds: Long.fromNumber(NOW_SECONDS), nanos: node },
      },
    })
    expect(await reasonOf({ nodes: [3, 4], edit })).toBe(at('transaction_invalid_shape'))
  })

  test('a duplicated node', async () => {
    expect(await reasonOf({ nodes: [3, 3] })).toBe(at('transaction_invalid_shape'))
  })

  test('one node’s body unsigned', async () => {
    const editPairs = (pairs: BodyJson[], node: number): BodyJson[] => (node === 1 ? [] : pairs)
    expect(await reasonOf({ nodes: [3, 4], editPairs })).toBe(at('signature_invalid'))
  })

  test('more than ten nodes', async () => {
    const nodes = Array.from({ length: 11 }, (_, index) => index + 3)
    expect(await reasonOf({ nodes })).toBe(at('transaction_invalid_shape'))
  })

  test('more than 6 KiB', async () => {
    const edit = (body: BodyJson): BodyJson => ({ ...body, memo: 'x'.repeat(7_000) })
    expect(await reasonOf({ edit })).toBe(at('transaction_invalid_shape'))
  })

  test('an NFT transfer added', async () => {
    const nft = {
      senderAccountID: accountOf(FEE_PAYER),
      receiverAccountID: accountOf('0.0.66'),
      serialNumber: Long.ONE,
    }
    expect(await reasonOf({ edit: withTokens({ nftTransfers: [nft] }) })).toBe(at('asset_mismatch'))
  })

  test('a token transfer added', async () => {
    const transfers = [lineOf(PAYER, -5), lineOf(PAY_TO, 5)]
    expect(await reasonOf({ edit: withTokens({ transfers }) })).toBe(at('asset_mismatch'))
  })

  test('an allowance spent (is_approval)', async () => {
    const lines = [
      { ...lineOf(PAYER, -300_000_000), isApproval: true },
      lineOf(PAY_TO, 300_000_000),
    ]
    expect(await reasonOf({ edit: withLines(lines) })).toBe(at('transaction_invalid_shape'))
  })

  test('an allowance hook called on the way', async () => {
    const hook = { hookId: Long.ONE, evmHookCall: { gasLimit: Long.fromNumber(1_000_000) } }
    const lines = [
      { ...lineOf(PAYER, -300_000_000), preTxAllowanceHook: hook },
      lineOf(PAY_TO, 300_000_000),
    ]
    expect(await reasonOf({ edit: withLines(lines) })).toBe(at('transaction_could_not_be_decoded'))
  })

  test('a fee above 1 HBAR', async () => {
    const edit = (body: BodyJson): BodyJson => ({
      ...body,
      transactionFee: Long.fromNumber(100_000_001),
    })
    expect(await reasonOf({ edit })).toBe(at('fee_too_high'))
  })

  test('high-volume pricing, at the fee payer’s cost', async () => {
    const edit = (body: BodyJson): BodyJson => ({ ...body, highVolume: true })
    expect(await reasonOf({ edit })).toBe(at('transaction_could_not_be_decoded'))
  })

  test('a memo above 100 bytes, or with a zero byte', async () => {
    for (const memo of ['x'.repeat(101), 'a\0b']) {
      expect(await reasonOf({ edit: (body) => ({ ...body, memo }) })).toBe(at('memo_too_long'))
    }
  })

  test('validity of more than 180 s or less than 15 s', async () => {
    for (const seconds of [181, 14, 0, -1]) {
      const transactionValidDuration = { seconds: Long.fromNumber(seconds) }
      expect(await reasonOf({ edit: (body) => ({ ...body, transactionValidDuration }) })).toBe(
        at('validity'),
      )
    }
  })

  test('validity that starts more than 10 s from now', async () => {
    expect(await reasonOf({}, { nowSeconds: NOW_SECONDS - 8 - 10 })).toBe('valid')
    expect(await reasonOf({}, { nowSeconds: NOW_SECONDS - 8 - 11 })).toBe(at('not_yet_valid'))
  })

  test('a bare Transaction, not a list', async () => {
    const list = proto.proto.TransactionList.decode(await forgeTransfer({ signers: [payer] }))
    const [transaction] = list.transactionList
    const bytes = proto.proto.Transaction.encode(transaction ?? {}).finish()
    expect(await verifyBytes(bytes)).toEqual({
      kind: 'refused',
      reason: at('transaction_could_not_be_decoded'),
    })
  })

  test('an unknown field behind the body', async () => {
    expect(await reasonOf({ tail: Buffer.from('f8070a', 'hex') })).toBe(
      at('transaction_could_not_be_decoded'),
    )
  })

  test('a field twice, of which readers take one or the other', async () => {
    expect(await reasonOf({ tail: Buffer.from('1805', 'hex') })).toBe(
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

  test('the payer is the fee payer', async () => {
    const lines = [lineOf(FEE_PAYER, -300_000_000), lineOf(PAY_TO, 300_000_000)]
    expect(await reasonOf({ edit: withLines(lines) })).toBe(at('fee_payer_transferring_hbar'))
  })

  test('the payer is the fee payer, under its EVM address', async () => {
    const ledger = ledgerWith({ evmAddress: `0x${'55'.repeat(20)}`, key: keyOf(payer) }, FEE_PAYER)
    const accountID = { alias: Buffer.alloc(20, 0x55) }
    const lines = [{ ...lineOf(PAYER, -300_000_000), accountID }, lineOf(PAY_TO, 300_000_000)]
    expect(await reasonOf({ edit: withLines(lines) }, { ledger })).toBe(
      at('fee_payer_transferring_hbar'),
    )
  })

  test('another transaction than a transfer', async () => {
    const edit = ({ cryptoTransfer: _cryptoTransfer, ...body }: BodyJson): BodyJson => ({
      ...body,
      cryptoDelete: { deleteAccountID: accountOf(PAYER), transferAccountID: accountOf(PAY_TO) },
    })
    expect(await reasonOf({ edit })).toBe(at('contains_non_transfer_ops'))
  })

  test('a transfer wrapped in a schedule', async () => {
    const edit = ({ cryptoTransfer, ...body }: BodyJson): BodyJson => ({
      ...body,
      scheduleCreate: { scheduledTransactionBody: { cryptoTransfer } },
    })
    expect(await reasonOf({ edit })).toBe(at('contains_non_transfer_ops'))
  })

  test('no operation at all', async () => {
    const edit = ({ cryptoTransfer: _cryptoTransfer, ...body }: BodyJson): BodyJson => body
    expect(await reasonOf({ edit })).toBe(at('contains_non_transfer_ops'))
  })

  test('another fee payer than the one asked for', async () => {
    const requirement = offer({ extra: { feePayer: '0.0.5002', paymentFlow: 'upfront' } })
    expect(await reasonOf({}, { requirement })).toBe(at('fee_payer_mismatch'))
  })

  test('a fee payer named by alias', async () => {
    const edit = (body: BodyJson): BodyJson => ({
      ...body,
      transactionID: {
        ...(body['transactionID'] as BodyJson),
        accountID: { alias: Buffer.alloc(20, 1) },
      },
    })
    expect(await reasonOf({ edit })).toBe(at('fee_payer_mismatch'))
  })

  test('a transaction id with a nonce, or of a schedule', async () => {
    for (const extra of [{ nonce: 1 }, { scheduled: true }]) {
      const edit = (body: BodyJson): BodyJson => ({
        ...body,
        transactionID: { ...(body['transactionID'] as BodyJson), ...extra },
      })
      expect(await reasonOf({ edit })).toBe(at('transaction_invalid_shape'))
    }
  })

  test.each<[string, string, BodyJson[]]>([
    [
      'HBAR sums not to zero',
      'hbar_sum_non_zero',
      [lineOf(PAYER, -300_000_000), lineOf(PAY_TO, 300_000_001)],
    ],
    ['an amount below', 'amount_mismatch', [lineOf(PAYER, -1), lineOf(PAY_TO, 1)]],
    [
      'an amount above',
      'amount_mismatch',
      [lineOf(PAYER, -300_000_001), lineOf(PAY_TO, 300_000_001)],
    ],
    ['another payTo', 'pay_to', [lineOf(PAYER, -300_000_000), lineOf('0.0.66', 300_000_000)]],
    [
      'a second receiver',
      'extra_positive_transfers',
      [lineOf(PAYER, -300_000_001), lineOf(PAY_TO, 300_000_000), lineOf('0.0.66', 1)],
    ],
    [
      'two senders',
      'unexpected_hbar_transfers',
      [lineOf(PAYER, -1), lineOf(OTHER_PAYER, -299_999_999), lineOf(PAY_TO, 300_000_000)],
    ],
    [
      'a zero line',
      'unexpected_hbar_transfers',
      [lineOf(PAYER, -300_000_000), lineOf('0.0.66', 0), lineOf(PAY_TO, 300_000_000)],
    ],
    [
      'one account twice',
      'transaction_invalid_shape',
      [lineOf(PAYER, -1), lineOf(PAYER, -299_999_999), lineOf(PAY_TO, 300_000_000)],
    ],
    ['no lines', 'unexpected_hbar_transfers', []],
  ])('%s', async (_name, reason, lines) => {
    expect(await reasonOf({ edit: withLines(lines) })).toBe(at(reason))
  })

  test('payTo under an address that no account has: the facilitator would pay for creating it', async () => {
    const accountID = { alias: Buffer.alloc(20, 0x99) }
    const lines = [lineOf(PAYER, -300_000_000), { ...lineOf(PAY_TO, 300_000_000), accountID }]
    expect(await reasonOf({ edit: withLines(lines) })).toBe(at('pay_to_alias_not_allowed'))
  })

  test('an alias that no account can have', async () => {
    const accountID = { alias: Buffer.alloc(21, 0x99) }
    const lines = [{ ...lineOf(PAYER, -300_000_000), accountID }, lineOf(PAY_TO, 300_000_000)]
    expect(await reasonOf({ edit: withLines(lines) })).toBe(at('transaction_could_not_be_decoded'))
  })

  test('a memo that is no UTF-8', async () => {
    expect(
      await reasonOf({
        edit: ({ memo: _memo, ...body }) => body,
        tail: Buffer.from('3201ff', 'hex'),
      }),
    ).toBe(at('transaction_could_not_be_decoded'))
  })

  test('somebody else’s account under an address in place of payTo', async () => {
    const ledger = ledgerWith({ evmAddress: `0x${'88'.repeat(20)}` }, '0.0.66')
    const accountID = { alias: Buffer.alloc(20, 0x88) }
    const lines = [lineOf(PAYER, -300_000_000), { ...lineOf(PAY_TO, 300_000_000), accountID }]
    expect(await reasonOf({ edit: withLines(lines) }, { ledger })).toBe(at('pay_to'))
  })

  test('signed by somebody else, by nobody, or with a broken signature', async () => {
    const broken = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, ECDSASecp256k1: Buffer.alloc(64, 1) }))
    const short = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, ECDSASecp256k1: Buffer.alloc(63, 1) }))
    expect(await reasonOf({ signers: [stranger] })).toBe(at('signature_invalid'))
    expect(await reasonOf({ signers: [] })).toBe(at('signature_invalid'))
    expect(await reasonOf({ editPairs: broken })).toBe(at('signature_invalid'))
    expect(await reasonOf({ editPairs: short })).toBe(at('signature_invalid'))
  })

  test('an empty key prefix, or two that the network cannot tell apart (KEY_PREFIX_MISMATCH)', async () => {
    const empty = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, pubKeyPrefix: Buffer.alloc(0) }))
    const twice = (pairs: BodyJson[]): BodyJson[] => [...pairs, ...pairs]
    expect(await reasonOf({ editPairs: empty })).toBe(at('signature_invalid'))
    expect(await reasonOf({ editPairs: twice })).toBe(at('signature_invalid'))
  })

  test('too few of a threshold, one missing of a list, a key nobody can sign for', async () => {
    const keys = [keyOf(payer), keyOf(edPayer)]
    for (const key of [
      { kind: 'threshold', threshold: 2, keys },
      { kind: 'unsupported' },
    ] as const) {
      expect(await reasonOf({}, { ledger: ledgerWith({ key }) })).toBe(at('signature_invalid'))
    }
  })

  test('a hollow account signed by another key, or with a cut prefix', async () => {
    const hollow = ledgerWith({ evmAddress: `0x${'aa'.repeat(20)}`, key: null })
    expect(await reasonOf({}, { ledger: hollow })).toBe(at('signature_invalid'))
    const own = ledgerWith({ evmAddress: payer.evmAddress ?? '0x', key: null })
    const editPairs = (pairs: BodyJson[]): BodyJson[] =>
      pairs.map((pair) => ({ ...pair, pubKeyPrefix: payer.publicKey.subarray(0, 32) }))
    expect(await reasonOf({ editPairs }, { ledger: own })).toBe(at('signature_invalid'))
  })

  test('a payer that does not exist or was deleted', async () => {
    const lines = [lineOf('0.0.424242', -300_000_000), lineOf(PAY_TO, 300_000_000)]
    expect(await reasonOf({ edit: withLines(lines) })).toBe(at('signature_invalid'))
    const ledger = ledgerWith({ key: keyOf(payer), isDeleted: true })
    expect(await reasonOf({}, { ledger })).toBe(at('preflight_failed'))
  })

  test('a key list that one payment cannot have signed whole', async () => {
    const many = Array.from({ length: 500 }, () => keyOf(payer))
    const ledger = ledgerWith({ key: { kind: 'threshold', threshold: 500, keys: many } })
    expect(await reasonOf({}, { ledger })).toBe(at('signature_invalid'))
  })
})

describe('refused: what our own requirement says', () => {
  test.each<[string, Partial<PaymentRequirement>, string]>([
    ['another network family', { network: 'eip155:196' }, 'network_mismatch'],
    ['a token', { asset: '0.0.429274' }, 'invalid_asset'],
    ['an amount of 0', { amount: '0' }, 'invalid_amount'],
    ['an amount beyond int64', { amount: '9223372036854775808' }, 'invalid_amount'],
    ['no fee payer', { extra: {} }, at('missing_fee_payer')],
    ['a payTo that is no account id', { payTo: `0x${'77'.repeat(20)}` }, at('pay_to')],
    [
      'another transfer method',
      { extra: { feePayer: FEE_PAYER, assetTransferMethod: 'transferExecutor' } },
      'invalid_exact_hedera_unsupported_asset_transfer_method',
    ],
  ])('%s', async (_name, changes, reason) => {
    expect(await reasonOf({}, { requirement: offer(changes) })).toBe(reason)
  })

  test('a payload that is no object with a transaction', async () => {
    const context = { accounts: new HederaStandIn().directory, nowSeconds: NOW_SECONDS }
    for (const payload of [undefined, null, 5, {}, { transaction: 5 }, []]) {
      const refused = await verifyHederaPayment(payload, offer(), context)
      expect(refused).toEqual({ kind: 'refused', reason: 'invalid_exact_hedera_payload' })
    }
  })
})

test('a key that was rotated is read anew once the old one fails', async () => {
  const fresh = ledgerWith({ key: keyOf(stranger) })
  const stale = ledgerWith({ key: keyOf(payer) })
  const accounts = {
    account: (name: string) => stale.directory.account(name),
    refresh: (name: string) => fresh.directory.account(name),
  }
  const payload = {
    transaction: Buffer.from(await forgeTransfer({ signers: [stranger] })).toString('base64'),
  }
  const context = { accounts, nowSeconds: NOW_SECONDS }
  expect((await verifyHederaPayment(payload, offer(), context)).kind).toBe('valid')
})

function withTokens(tokens: BodyJson): (body: BodyJson) => BodyJson {
  return (body) => {
    const transfer = body['cryptoTransfer'] as BodyJson
    const token = { shardNum: Long.ZERO, realmNum: Long.ZERO, tokenNum: Long.fromNumber(77) }
    return { ...body, cryptoTransfer: { ...transfer, tokenTransfers: [{ token, ...tokens }] } }
  }
}

/** s becomes n − s: the other signature of the same message that every lenient verifier accepts. */
function toHighS(signature: unknown): Uint8Array {
  const bytes = Uint8Array.from(signature as Uint8Array)
  const negated = secp256k1.privateKeyNegate(bytes.slice(32))
  return Buffer.concat([bytes.subarray(0, 32), negated])
}
