import {
  AccountAllowanceApproveTransaction,
  AccountBalanceQuery,
  AccountCreateTransaction,
  AccountId,
  AccountUpdateTransaction,
  CustomFixedFee,
  Hbar,
  KeyList,
  PrivateKey,
  TokenAssociateTransaction,
  TokenCreateTransaction,
  TokenId,
  TokenSupplyType,
  type Transaction,
  TransactionId,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mirror } from '../testing/test-clients.fixture.ts'
import { sdkKey, startTransferFixture, toMirrorId } from '../testing/transfer.fixture.ts'

const { client, devnet, payer, readStatus, stop } = await startTransferFixture()
afterAll(stop)

const get = async (path: string) => (await mirror(devnet, `/api/v1/${path}`)).body
const execute = async (transaction: Transaction) =>
  (await transaction.execute(client)).getReceipt(client)

async function create(transaction: AccountCreateTransaction, key?: PrivateKey): Promise<AccountId> {
  const frozen = transaction.freezeWith(client)
  const { accountId } = await execute(key === undefined ? frozen : await frozen.sign(key))
  if (accountId === null) throw new Error('no account was created')
  return accountId
}

describe('L8: AccountCreate and AccountUpdate', () => {
  test('an ECDSA key and its address as alias, funded by the payer', async () => {
    const key = PrivateKey.generateECDSA()
    const id = await create(
      new AccountCreateTransaction()
        .setECDSAKeyWithAlias(key.publicKey)
        .setInitialBalance(new Hbar(7))
        .setAccountMemo('new'),
      key,
    )
    expect(await get(`accounts/0x${key.publicKey.toEvmAddress()}`)).toMatchObject({
      account: id.toString(),
      balance: { balance: 700_000_000 },
      key: { _type: 'ECDSA_SECP256K1', key: key.publicKey.toStringRaw() },
      memo: 'new',
    })
    const again = new AccountCreateTransaction().setECDSAKeyWithAlias(key.publicKey)
    expect(await readStatus(await again.freezeWith(client).sign(key))).toBe(
      'ALIAS_ALREADY_ASSIGNED',
    )
  })

  test('an ED25519 key, and a list of keys, without an alias', async () => {
    const [single, other] = [PrivateKey.generateED25519(), PrivateKey.generateECDSA()] as const
    const list = new KeyList([single.publicKey, other.publicKey], 1)
    for (const [key, type] of [
      [single.publicKey, 'ED25519'],
      [list, 'ProtobufEncoded'],
    ] as const) {
      const id = await create(new AccountCreateTransaction().setKeyWithoutAlias(key))
      expect(await get(`accounts/${String(id)}`)).toMatchObject({
        alias: null,
        key: { _type: type },
        max_automatic_token_associations: 0,
      })
      const debit = new TransferTransaction()
        .addHbarTransfer(payer.accountId, new Hbar(-1))
        .addHbarTransfer(id, new Hbar(1))
      expect(await readStatus(debit)).toBe('SUCCESS')
    }
  })

  test.each([
    ['KEY_REQUIRED', () => new AccountCreateTransaction()],
    ['KEY_REQUIRED', () => new AccountCreateTransaction().setKeyWithoutAlias(new KeyList())],
    [
      'INVALID_SIGNATURE',
      () =>
        new AccountCreateTransaction()
          .setKeyWithoutAlias(PrivateKey.generateED25519().publicKey)
          .setAlias(PrivateKey.generateECDSA().publicKey.toEvmAddress()),
    ],
    [
      'INSUFFICIENT_PAYER_BALANCE',
      () =>
        new AccountCreateTransaction()
          .setKeyWithoutAlias(sdkKey(payer).publicKey)
          .setInitialBalance(new Hbar(50_000)),
    ],
  ])('%s: no account', async (status, transaction) => {
    expect(await readStatus(transaction())).toBe(status)
  })

  test('an update of key and memo needs both keys', async () => {
    const [before, after] = [PrivateKey.generateED25519(), PrivateKey.generateED25519()] as const
    const id = await create(new AccountCreateTransaction().setKeyWithoutAlias(before.publicKey))
    const update = () =>
      new AccountUpdateTransaction()
        .setAccountId(id)
        .setKey(after.publicKey)
        .setAccountMemo('mine')
        .freezeWith(client)
    expect(await readStatus(await update().sign(before))).toBe('INVALID_SIGNATURE')
    expect(await readStatus(await (await update().sign(before)).sign(after))).toBe('SUCCESS')
    expect(await get(`accounts/${String(id)}`)).toMatchObject({
      key: { key: after.publicKey.toStringRaw() },
      memo: 'mine',
    })
  })
})

describe('L21: fungible tokens', () => {
  let token: TokenId
  const treasury = payer.accountId
  const holder = PrivateKey.generateED25519()
  let holderId: AccountId

  const newHolder = (associations: number) =>
    create(
      new AccountCreateTransaction()
        .setKeyWithoutAlias(holder.publicKey)
        .setMaxAutomaticTokenAssociations(associations),
    )
  const pay = (to: AccountId | string, amount: number, from: AccountId | string = treasury) =>
    new TransferTransaction()
      .addTokenTransfer(token, from, -amount)
      .addTokenTransfer(token, to, amount)
      .freezeWith(client)

  beforeAll(async () => {
    const { tokenId } = await execute(
      new TokenCreateTransaction()
        .setTokenName('Dollar')
        .setTokenSymbol('USD')
        .setDecimals(6)
        .setInitialSupply(1_000_000)
        .setTreasuryAccountId(treasury)
        .setAdminKey(sdkKey(payer).publicKey),
    )
    token = tokenId ?? new TokenId(0)
    holderId = await newHolder(0)
  })

  test('a token, as the mirror node shows it; its treasury holds the supply', async () => {
    expect(await get(`tokens/${String(token)}`)).toMatchObject({
      name: 'Dollar',
      symbol: 'USD',
      decimals: '6',
      total_supply: '1000000',
      supply_type: 'INFINITE',
      treasury_account_id: treasury,
      admin_key: { key: sdkKey(payer).publicKey.toStringRaw() },
    })
    expect(await get(`tokens/${String(token)}/balances`)).toMatchObject({
      balances: [{ account: treasury, balance: 1_000_000, decimals: 6 }],
    })
    expect(await get('tokens?limit=1')).toMatchObject({ tokens: [{ token_id: String(token) }] })
    expect((await mirror(devnet, '/api/v1/tokens/0.0.2')).status).toBe(404)
  })

  test('only an associated account takes it; then the transfer is in the record and at the mirror node', async () => {
    expect(await readStatus(pay(holderId, 5))).toBe('TOKEN_NOT_ASSOCIATED_TO_ACCOUNT')
    const associate = () =>
      new TokenAssociateTransaction().setAccountId(holderId).setTokenIds([token]).freezeWith(client)
    expect(await readStatus(associate())).toBe('INVALID_SIGNATURE')
    expect(await readStatus(await associate().sign(holder))).toBe('SUCCESS')
    const twice = await associate().sign(holder)
    expect(await readStatus(twice)).toBe('TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT')
    const response = await pay(holderId, 5).execute(client)
    const { tokenTransfers } = await response.getRecord(client)
    expect(tokenTransfers.get(token)?.get(holderId)?.toNumber()).toBe(5)
    const { transactions } = await get(`transactions/${toMirrorId(response.transactionId)}`)
    const moved = (account: string, amount: number) => ({
      account,
      amount,
      token_id: String(token),
    })
    expect(transactions).toMatchObject([
      { token_transfers: [moved(treasury, -5), moved(String(holderId), 5)] },
    ])
    expect(await get(`accounts/${String(holderId)}/tokens`)).toMatchObject({
      tokens: [{ token_id: String(token), balance: 5, automatic_association: false, decimals: 6 }],
    })
    const atMost = await get(`tokens/${String(token)}/balances?account.balance=lte:5`)
    expect(atMost['balances']).toMatchObject([{ account: String(holderId), balance: 5 }])
    const balance = await new AccountBalanceQuery().setAccountId(holderId).execute(client)
    expect(balance.tokens?.get(token)?.toNumber()).toBe(5)
    const list = await get(`transactions?account.id=${String(holderId)}&type=credit&limit=1`)
    expect(list['transactions']).toMatchObject([{ token_transfers: expect.any(Array) }])
    const [{ consensus_timestamp: at }] = transactions as [{ consensus_timestamp: string }]
    const past = async (operator: string) =>
      (await get(`balances?account.id=${String(holderId)}&timestamp=${operator}:${at}`))['balances']
    expect(await past('lt')).toMatchObject([{ tokens: [{ balance: 0 }] }])
    expect(await past('lte')).toMatchObject([{ tokens: [{ balance: 5 }] }])
  })

  test('automatic associations reach as far as the account says, and without end for a new alias', async () => {
    const other = await newHolder(1)
    expect(await readStatus(pay(other, 1))).toBe('SUCCESS')
    expect(await get(`accounts/${String(other)}/tokens`)).toMatchObject({
      tokens: [{ automatic_association: true, balance: 1 }],
    })
    const second = await execute(
      new TokenCreateTransaction()
        .setTokenName('Second')
        .setTokenSymbol('TWO')
        .setInitialSupply(9)
        .setTreasuryAccountId(treasury),
    )
    const more = new TransferTransaction()
      .addTokenTransfer(second.tokenId ?? '', treasury, -1)
      .addTokenTransfer(second.tokenId ?? '', other, 1)
    expect(await readStatus(more)).toBe('NO_REMAINING_AUTOMATIC_ASSOCIATIONS')
    const alias = PrivateKey.generateECDSA().publicKey.toEvmAddress()
    expect(await readStatus(pay(`0.0.${alias}`, 3))).toBe('SUCCESS')
    expect(await get(`accounts/0x${alias}`)).toMatchObject({
      balance: { balance: 0, tokens: [{ token_id: String(token), balance: 3 }] },
    })
  })

  test('each of several new aliases gets what is sent to it', async () => {
    const keys = [
      PrivateKey.generateECDSA(),
      PrivateKey.generateED25519(),
      PrivateKey.generateED25519(),
    ]
    const transfer = new TransferTransaction().addTokenTransfer(token, treasury, -6)
    for (const [at, key] of keys.entries()) {
      transfer.addTokenTransfer(token, key.publicKey.toAccountId(0, 0), at + 1)
    }
    expect(await readStatus(transfer)).toBe('SUCCESS')
    for (const [at, key] of keys.entries()) {
      const { accounts } = await get(`accounts?account.publickey=${key.publicKey.toStringRaw()}`)
      expect(accounts).toMatchObject([{ balance: { tokens: [{ balance: at + 1 }] } }])
    }
  })

  test('an allowance is not spent twice over by two names of its owner', async () => {
    const key = PrivateKey.generateECDSA()
    const spender = await create(
      new AccountCreateTransaction()
        .setECDSAKeyWithAlias(key.publicKey)
        .setInitialBalance(new Hbar(5)),
      key,
    )
    const allow = new AccountAllowanceApproveTransaction()
    allow.approveHbarAllowance(treasury, spender, new Hbar(5))
    expect(await readStatus(allow)).toBe('SUCCESS')
    const take = new TransferTransaction()
      .addApprovedHbarTransfer(treasury, new Hbar(-5))
      .addApprovedHbarTransfer(AccountId.fromEvmAddress(0, 0, payer.evmAddress), new Hbar(-5))
      .addHbarTransfer(spender, new Hbar(10))
      .setTransactionId(TransactionId.generate(spender))
      .freezeWith(client)
    const theft = new AccountAllowanceApproveTransaction()
    theft.approveHbarAllowance(spender, treasury, new Hbar(1))
    expect(await readStatus(theft)).toBe('INVALID_SIGNATURE')
    expect(await readStatus(await take.sign(key))).toBe('ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS')
  })

  const plainToken = () =>
    new TokenCreateTransaction()
      .setTokenName('No')
      .setTokenSymbol('NO')
      .setTreasuryAccountId(treasury)
  test('what a token would not keep is refused, never left out', async () => {
    expect(await readStatus(plainToken().setSupplyType(TokenSupplyType.Finite))).toBe(
      'INVALID_TOKEN_MAX_SUPPLY',
    )
    const free = new CustomFixedFee().setHbarAmount(new Hbar(1)).setFeeCollectorAccountId(treasury)
    const charged = plainToken().setCustomFees([free]).setMaxTransactionFee(new Hbar(60))
    const { tokenId } = await execute(charged)
    const inIt = new CustomFixedFee()
      .setAmount(1)
      .setDenominatingTokenId(tokenId ?? '')
      .setFeeCollectorAccountId(treasury)
    const chain = plainToken().setCustomFees([inIt]).setMaxTransactionFee(new Hbar(60))
    expect(await readStatus(chain)).toBe('NOT_SUPPORTED')
  })

  test('what cannot be moved moves nothing', async () => {
    const wrong = await pay(treasury, 99, holderId).sign(holder)
    expect(await readStatus(wrong)).toBe('INSUFFICIENT_TOKEN_BALANCE')
    expect(await readStatus(pay(treasury, 1, holderId))).toBe('INVALID_SIGNATURE')
    const unbalanced = new TransferTransaction().addTokenTransfer(token, treasury, -1)
    expect(await readStatus(unbalanced)).toBe('TRANSFERS_NOT_ZERO_SUM_FOR_TOKEN')
    const unknown = new TransferTransaction()
      .addTokenTransfer('0.0.5', treasury, -1)
      .addTokenTransfer('0.0.5', holderId, 1)
    expect(await readStatus(unknown)).toBe('INVALID_TOKEN_ID')
    const decimals = new TransferTransaction()
      .addTokenTransferWithDecimals(token, treasury, -1, 2)
      .addTokenTransferWithDecimals(token, holderId, 1, 2)
    expect(await readStatus(decimals)).toBe('UNEXPECTED_TOKEN_DECIMALS')
    const nft = new TransferTransaction().addNftTransfer(token, 1, treasury, holderId)
    expect(await readStatus(nft)).toBe('NOT_SUPPORTED')
  })
})
