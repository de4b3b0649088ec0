import {
  AccountAllowanceApproveTransaction,
  AccountCreateTransaction,
  AccountDeleteTransaction,
  CustomFixedFee,
  Hbar,
  PrivateKey,
  TokenAssociateTransaction,
  TokenCreateTransaction,
  TokenDeleteTransaction,
  TokenFreezeTransaction,
  TokenGrantKycTransaction,
  TokenInfoQuery,
  TokenPauseTransaction,
  TokenRevokeKycTransaction,
  TokenUnfreezeTransaction,
  TokenUnpauseTransaction,
  TopicCreateTransaction,
  TopicInfoQuery,
  type Transaction,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { type Address, encodeFunctionData, erc20Abi, parseEther } from 'viem'
import { afterAll, describe, expect, test } from 'vitest'
import { accountNamed, mirror, viemClient } from '../testing/test-clients.fixture.ts'
import { sdkClient, startTransferFixture, toMirrorId } from '../testing/transfer.fixture.ts'

const { client, devnet, payer, readStatus, stop } = await startTransferFixture()
const buyer = accountNamed(devnet, 'agent-2')
const buyerClient = sdkClient(devnet, buyer)
const asPayer = viemClient(devnet, payer)
afterAll(async () => {
  buyerClient.close()
  await stop()
})

const key = PrivateKey.generateECDSA()
const get = async (path: string) => (await mirror(devnet, `/api/v1/${path}`)).body
const execute = async (transaction: Transaction) =>
  (await transaction.execute(client)).getReceipt(client)
/** Signed by the payer and by the key of tokens and accounts here. */
const both = async (transaction: Transaction) => transaction.freezeWith(client).sign(key)
const statusOfBoth = async (transaction: Transaction) => readStatus(await both(transaction))

/** An account that takes any token, with an alias, as the EVM knows accounts. */
async function open(change = (create: AccountCreateTransaction) => create): Promise<string> {
  const own = PrivateKey.generateECDSA()
  const create = new AccountCreateTransaction()
    .setKeyWithAlias(key.publicKey, own.publicKey)
    .setMaxAutomaticTokenAssociations(-1)
  const signed = await (await both(change(create))).sign(own)
  return String((await execute(signed)).accountId)
}

async function createToken(change = (create: TokenCreateTransaction) => create): Promise<string> {
  const create = new TokenCreateTransaction()
    .setTokenName('Dollar')
    .setTokenSymbol('USD')
    .setInitialSupply(1_000_000)
    .setTreasuryAccountId(payer.accountId)
    .setMaxTransactionFee(new Hbar(60))
  return String((await execute(await both(change(create)))).tokenId)
}

const pay = (token: string, to: string) =>
  new TransferTransaction()
    .addTokenTransfer(token, payer.accountId, -10)
    .addTokenTransfer(token, to, 10)

/** Pays in the EVM; whether it arrived. */
async function payInEvm(token: string, account: string): Promise<boolean> {
  const { evm_address: evmAddress } = await get(`accounts/${account}`)
  const args = [evmAddress as Address, 10n] as const
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args })
  const to: Address = `0x${Number(token.slice(4)).toString(16).padStart(40, '0')}`
  const hash = await asPayer.sendTransaction({ to, data, gas: 1_000_000n })
  return (await asPayer.waitForTransactionReceipt({ hash })).status === 'success'
}

const holding = async (account: string) =>
  ((await get(`accounts/${account}/tokens`))['tokens'] as object[])[0]

describe('L21: the keys of a token', () => {
  test('a frozen account neither gives nor takes, until it is thawed', async () => {
    const token = await createToken((create) => create.setFreezeKey(key))
    const to = await open()
    expect(await readStatus(pay(token, to))).toBe('SUCCESS')
    const freeze = new TokenFreezeTransaction().setTokenId(token).setAccountId(to)
    expect(await readStatus(freeze)).toBe('INVALID_SIGNATURE')
    expect(
      await statusOfBoth(new TokenFreezeTransaction().setTokenId(token).setAccountId(to)),
    ).toBe('SUCCESS')
    expect(await holding(to)).toMatchObject({
      freeze_status: 'FROZEN',
      kyc_status: 'NOT_APPLICABLE',
    })
    expect(await readStatus(pay(token, to))).toBe('ACCOUNT_FROZEN_FOR_TOKEN')
    expect(await payInEvm(token, to)).toBe(false)
    const back = new TransferTransaction()
      .addTokenTransfer(token, to, -1)
      .addTokenTransfer(token, payer.accountId, 1)
    expect(await statusOfBoth(back)).toBe('ACCOUNT_FROZEN_FOR_TOKEN')
    const thaw = new TokenUnfreezeTransaction().setTokenId(token).setAccountId(to)
    expect(await statusOfBoth(thaw)).toBe('SUCCESS')
    expect(await payInEvm(token, to)).toBe(true)
    expect(await holding(to)).toMatchObject({ balance: 20, freeze_status: 'UNFROZEN' })
  })

  test('a token that freezes by default is taken by nobody unasked', async () => {
    const token = await createToken((create) => create.setFreezeKey(key).setFreezeDefault(true))
    const to = await open()
    expect(await get(`tokens/${token}`)).toMatchObject({ freeze_default: true })
    expect(await readStatus(pay(token, to))).toBe('ACCOUNT_FROZEN_FOR_TOKEN')
    expect(await holding(to)).toBeUndefined()
    const associate = new TokenAssociateTransaction().setAccountId(to).setTokenIds([token])
    expect(await statusOfBoth(associate)).toBe('SUCCESS')
    expect(await readStatus(pay(token, to))).toBe('ACCOUNT_FROZEN_FOR_TOKEN')
    const thaw = new TokenUnfreezeTransaction().setTokenId(token).setAccountId(to)
    expect(await statusOfBoth(thaw)).toBe('SUCCESS')
    expect(await readStatus(pay(token, to))).toBe('SUCCESS')
    const keyless = new TokenCreateTransaction()
      .setTokenName('Cold')
      .setTokenSymbol('CLD')
      .setTreasuryAccountId(payer.accountId)
      .setFreezeDefault(true)
    expect(await readStatus(keyless)).toBe('TOKEN_HAS_NO_FREEZE_KEY')
  })

  test('a token with KYC is held by those who have it', async () => {
    const token = await createToken((create) => create.setKycKey(key))
    const to = await open()
    expect(await readStatus(pay(token, to))).toBe('ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN')
    const grant = () => new TokenGrantKycTransaction().setTokenId(token).setAccountId(to)
    expect(await statusOfBoth(grant())).toBe('TOKEN_NOT_ASSOCIATED_TO_ACCOUNT')
    const associate = new TokenAssociateTransaction().setAccountId(to).setTokenIds([token])
    expect(await statusOfBoth(associate)).toBe('SUCCESS')
    expect(await holding(to)).toMatchObject({ kyc_status: 'REVOKED' })
    expect(await payInEvm(token, to)).toBe(false)
    expect(await statusOfBoth(grant())).toBe('SUCCESS')
    expect(await payInEvm(token, to)).toBe(true)
    expect(await holding(to)).toMatchObject({ balance: 10, kyc_status: 'GRANTED' })
    const revoke = new TokenRevokeKycTransaction().setTokenId(token).setAccountId(to)
    expect(await statusOfBoth(revoke)).toBe('SUCCESS')
    expect(await readStatus(pay(token, to))).toBe('ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN')
  })

  test('a paused token rests, a deleted one is over', async () => {
    const token = await createToken((create) => create.setPauseKey(key).setAdminKey(key))
    const to = await open()
    expect(await statusOfBoth(new TokenPauseTransaction().setTokenId(token))).toBe('SUCCESS')
    expect(await get(`tokens/${token}`)).toMatchObject({ pause_status: 'PAUSED' })
    expect(await readStatus(pay(token, to))).toBe('TOKEN_IS_PAUSED')
    expect(await payInEvm(token, to)).toBe(false)
    expect(await statusOfBoth(new TokenDeleteTransaction().setTokenId(token))).toBe(
      'TOKEN_IS_PAUSED',
    )
    expect(await statusOfBoth(new TokenUnpauseTransaction().setTokenId(token))).toBe('SUCCESS')
    expect(await readStatus(pay(token, to))).toBe('SUCCESS')
    expect(await statusOfBoth(new TokenDeleteTransaction().setTokenId(token))).toBe('SUCCESS')
    expect(await get(`tokens/${token}`)).toMatchObject({ deleted: true })
    expect(await readStatus(pay(token, to))).toBe('TOKEN_WAS_DELETED')
    const plain = await createToken()
    expect(await statusOfBoth(new TokenPauseTransaction().setTokenId(plain))).toBe(
      'TOKEN_HAS_NO_PAUSE_KEY',
    )
    expect(await statusOfBoth(new TokenDeleteTransaction().setTokenId(plain))).toBe(
      'TOKEN_IS_IMMUTABLE',
    )
  })
})

const remove = (account: string) =>
  statusOfBoth(
    new AccountDeleteTransaction().setAccountId(account).setTransferAccountId(payer.accountId),
  )

/** What its payer is charged for it. */
const fee = async (transaction: Transaction): Promise<number> => {
  const response = await transaction.execute(client)
  await response.getReceipt(client)
  const { transactions } = await get(`transactions/${toMirrorId(response.transactionId)}`)
  const [{ charged_tx_fee: charged }] = transactions as [{ charged_tx_fee: number }]
  return charged
}

describe('L21: who is paid', () => {
  test('a deleted account takes no token, natively or in the EVM', async () => {
    const token = await createToken()
    const to = await open()
    expect(await remove(to)).toBe('SUCCESS')
    expect(await readStatus(pay(token, to))).toBe('ACCOUNT_DELETED')
    expect(await payInEvm(token, to)).toBe(false)
  })

  test('a fee to a deleted collector stops the transfer', async () => {
    const collector = await open()
    const toIt = new CustomFixedFee().setHbarAmount(new Hbar(1)).setFeeCollectorAccountId(collector)
    const token = await createToken((create) => create.setCustomFees([toIt]))
    const [one, two] = [await open(), await open()]
    expect(await readStatus(pay(token, one))).toBe('SUCCESS')
    expect(await remove(collector)).toBe('SUCCESS')
    const on = new TransferTransaction()
      .addTokenTransfer(token, one, -1)
      .addTokenTransfer(token, two, 1)
    expect(await statusOfBoth(on)).toBe('ACCOUNT_DELETED')
  })

  test('an account that asks for its signature takes nothing without it', async () => {
    const token = await createToken()
    const to = await open((create) => create.setReceiverSignatureRequired(true))
    expect(await get(`accounts/${to}`)).toMatchObject({ receiver_sig_required: true })
    const hbar = () =>
      new TransferTransaction()
        .addHbarTransfer(payer.accountId, new Hbar(-1))
        .addHbarTransfer(to, new Hbar(1))
    expect(await readStatus(hbar())).toBe('INVALID_SIGNATURE')
    expect(await statusOfBoth(hbar())).toBe('SUCCESS')
    expect(await readStatus(pay(token, to))).toBe('INVALID_SIGNATURE')
    expect(await payInEvm(token, to)).toBe(false)
    expect(await statusOfBoth(pay(token, to))).toBe('SUCCESS')
    const { evm_address: address } = await get(`accounts/${to}`)
    const sent = asPayer.sendTransaction({ to: address as Address, value: parseEther('1') })
    await expect(sent).rejects.toThrow("Operation is not supported when receiver's signature")
  })

  test('what is taken by allowance is marked at the mirror node', async () => {
    const allow = new AccountAllowanceApproveTransaction().approveHbarAllowance(
      payer.accountId,
      buyer.accountId,
      new Hbar(2),
    )
    expect(await readStatus(allow)).toBe('SUCCESS')
    const take = new TransferTransaction()
      .addApprovedHbarTransfer(payer.accountId, new Hbar(-2))
      .addHbarTransfer(buyer.accountId, new Hbar(2))
    const response = await take.execute(buyerClient)
    await response.getReceipt(buyerClient)
    const { transactions } = await get(`transactions/${toMirrorId(response.transactionId)}`)
    const [{ transfers }] = transactions as [{ transfers: object[] }]
    expect(transfers).toContainEqual({
      account: payer.accountId,
      amount: -200_000_000,
      is_approval: true,
    })
    expect(transfers).not.toContainEqual(
      expect.objectContaining({ account: buyer.accountId, is_approval: true }),
    )
  })
})

describe('L21: what it costs, and who renews it', () => {
  test('a payer is charged for each association that its transfer makes, and twice for custom fees', async () => {
    const plain = await createToken()
    const to = await open()
    const first = await fee(pay(plain, to))
    const second = await fee(pay(plain, to))
    // $0.05 and $0.001 at the ledger's rate.
    expect([Math.round((first - second) / second), second]).toEqual([50, 1_279_317])
    const collector = await open()
    const custom = new CustomFixedFee()
      .setHbarAmount(new Hbar(1))
      .setFeeCollectorAccountId(collector)
    const withFees = await createToken((create) => create.setCustomFees([custom]))
    await fee(pay(withFees, to))
    expect(Math.round((await fee(pay(withFees, to))) / second)).toBe(2)
    const tokens = [await createToken(), await createToken()]
    const associate = new TokenAssociateTransaction().setAccountId(to).setTokenIds(tokens)
    expect(Math.round((await fee(await both(associate))) / second)).toBe(100)
  })

  test('who renews a token or a topic has signed for it, and is shown', async () => {
    const token = await createToken((create) => create.setAutoRenewAccountId(payer.accountId))
    expect(await get(`tokens/${token}`)).toMatchObject({ auto_renew_account: payer.accountId })
    const info = await new TokenInfoQuery().setTokenId(token).execute(client)
    expect(String(info.autoRenewAccountId)).toBe(payer.accountId)
    const unsigned = new TopicCreateTransaction().setAutoRenewAccountId(buyer.accountId)
    expect(await readStatus(unsigned)).toBe('INVALID_SIGNATURE')
    const own = new TopicCreateTransaction().setAutoRenewAccountId(payer.accountId)
    const { topicId } = await execute(own)
    expect(await get(`topics/${String(topicId)}`)).toMatchObject({
      auto_renew_account: payer.accountId,
    })
    const known = await new TopicInfoQuery().setTopicId(String(topicId)).execute(client)
    expect(String(known.autoRenewAccountId)).toBe(payer.accountId)
    expect(await readStatus(new TopicCreateTransaction().setAutoRenewAccountId('0.0.99999'))).toBe(
      'INVALID_AUTORENEW_ACCOUNT',
    )
  })

  test('metadata is shown as it was given, with its key', async () => {
    const token = await createToken((create) =>
      create.setMetadata(Buffer.from('of gold')).setMetadataKey(key),
    )
    expect(await get(`tokens/${token}`)).toMatchObject({
      metadata: btoa('of gold'),
      metadata_key: { key: key.publicKey.toStringRaw() },
    })
    const info = await new TokenInfoQuery().setTokenId(token).execute(client)
    expect(Buffer.from(info.metadata ?? []).toString()).toBe('of gold')
    const long = new TokenCreateTransaction()
      .setTokenName('Long')
      .setTokenSymbol('LNG')
      .setTreasuryAccountId(payer.accountId)
      .setMetadata(Buffer.alloc(101))
    expect(await readStatus(long)).toBe('METADATA_TOO_LONG')
  })
})
