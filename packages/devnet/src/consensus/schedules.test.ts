import {
  AccountCreateTransaction,
  AccountId,
  ContractExecuteTransaction,
  Hbar,
  PrivateKey,
  ScheduleCreateTransaction,
  ScheduleDeleteTransaction,
  type ScheduleId,
  ScheduleInfoQuery,
  ScheduleSignTransaction,
  Timestamp,
  TransactionReceiptQuery,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mirror } from '../testing/test-clients.fixture.ts'
import { startTransferFixture, toMirrorId } from '../testing/transfer.fixture.ts'

const { client, devnet, payer, readStatus, stop, tinybar } = await startTransferFixture()
afterAll(stop)

const get = async (path: string) => (await mirror(devnet, `/api/v1/${path}`)).body

const create = async (transaction: ScheduleCreateTransaction) => {
  const response = await transaction.execute(client)
  const { scheduleId, scheduledTransactionId } = await response.getReceipt(client)
  if (scheduleId === null || scheduledTransactionId === null) throw new Error('no schedule')
  return { scheduleId, scheduledTransactionId }
}

describe('L24: scheduled transactions', () => {
  const key = PrivateKey.generateECDSA()
  let from: string

  beforeAll(async () => {
    const account = new AccountCreateTransaction()
      .setECDSAKeyWithAlias(key.publicKey)
      .setInitialBalance(new Hbar(10))
      .freezeWith(client)
    const response = await (await account.sign(key)).execute(client)
    from = String((await response.getReceipt(client)).accountId)
  })

  const give = (memo: string, hbar = 1, maxFee = new Hbar(2)) =>
    new ScheduleCreateTransaction()
      .setScheduledTransaction(
        new TransferTransaction()
          .addHbarTransfer(from, new Hbar(-hbar))
          .addHbarTransfer(payer.accountId, new Hbar(hbar))
          .setMaxTransactionFee(maxFee),
      )
      .setScheduleMemo(memo)
  const sign = (scheduleId: ScheduleId, by = key) =>
    new ScheduleSignTransaction().setScheduleId(scheduleId).freezeWith(client).sign(by)
  test('one waits for the signature that it lacks, and runs as it comes', async () => {
    const { scheduleId, scheduledTransactionId } = await create(give('waits'))
    const before = await tinybar(from)
    expect(await get(`schedules/${String(scheduleId)}`)).toMatchObject({
      executed_timestamp: null,
      memo: 'waits',
      payer_account_id: payer.accountId,
      wait_for_expiry: false,
    })
    expect(await readStatus(give('waits'))).toBe('IDENTICAL_SCHEDULE_ALREADY_CREATED')
    expect(await tinybar(from)).toBe(before)
    const stranger = PrivateKey.generateED25519()
    // Neither a stranger's signature nor that of its payer, which it has, brings it further.
    expect(await readStatus(await sign(scheduleId, stranger))).toBe('NO_NEW_VALID_SIGNATURES')
    expect(await tinybar(from)).toBe(before)
    expect(await readStatus(await sign(scheduleId))).toBe('SUCCESS')
    expect(await tinybar(from)).toBe(before - 100_000_000)
    const receipt = await new TransactionReceiptQuery()
      .setTransactionId(scheduledTransactionId)
      .execute(client)
    expect(receipt.status.toString()).toBe('SUCCESS')
    const path = `transactions/${toMirrorId(scheduledTransactionId)}?scheduled=true`
    expect((await get(path))['transactions']).toMatchObject([
      { name: 'CRYPTOTRANSFER', node: null, result: 'SUCCESS', scheduled: true },
    ])
    const info = await new ScheduleInfoQuery().setScheduleId(scheduleId).execute(client)
    expect(info).toMatchObject({ scheduleMemo: 'waits', executed: expect.anything() })
    expect(await get(`schedules/${String(scheduleId)}`)).toMatchObject({
      executed_timestamp: expect.any(String),
      signatures: expect.arrayContaining([expect.objectContaining({ type: 'ECDSA_SECP256K1' })]),
    })
    expect(await readStatus(await sign(scheduleId))).toBe('SCHEDULE_ALREADY_EXECUTED')
  })

  test('one waits for a hollow account, whose key is the one of its address', async () => {
    const own = PrivateKey.generateECDSA()
    const hollow = own.publicKey.toEvmAddress()
    const fund = new TransferTransaction()
      .addHbarTransfer(payer.accountId, new Hbar(-5))
      .addHbarTransfer(`0x${hollow}`, new Hbar(5))
    expect(await readStatus(fund)).toBe('SUCCESS')
    const { account } = await get(`accounts/0x${hollow}`)
    const wanted = new TransferTransaction()
      .addHbarTransfer(String(account), new Hbar(-1))
      .addHbarTransfer(payer.accountId, new Hbar(1))
    const { scheduleId } = await create(wanted.schedule())
    expect(await readStatus(await sign(scheduleId, own))).toBe('SUCCESS')
    expect(await tinybar(String(account))).toBe(400_000_000)
  })

  test('one that all have signed runs at once; what it cannot do is its result', async () => {
    const both = await give('at once', 500).freezeWith(client).sign(key)
    const { scheduledTransactionId } = await create(both)
    const path = `transactions/${toMirrorId(scheduledTransactionId)}?scheduled=true`
    expect((await get(path))['transactions']).toMatchObject([
      { result: 'INSUFFICIENT_ACCOUNT_BALANCE' },
    ])
  })

  test('one that costs more than its sender allows does nothing and costs no more than that', async () => {
    const before = await tinybar(from)
    const both = await give('too dear', 1, Hbar.fromTinybars(1)).freezeWith(client).sign(key)
    const { scheduledTransactionId } = await create(both)
    const path = `transactions/${toMirrorId(scheduledTransactionId)}?scheduled=true`
    expect((await get(path))['transactions']).toMatchObject([
      { charged_tx_fee: 1, result: 'INSUFFICIENT_TX_FEE' },
    ])
    expect(await tinybar(from)).toBe(before)
  })

  test('one that waits for its time runs then, and one that lacks a signature never does', async () => {
    const expiry = new Timestamp(devnet.nowSeconds() + 60, 0)
    const later = (memo: string) =>
      give(memo).setExpirationTime(expiry).setWaitForExpiry(true).freezeWith(client)
    const signed = await create(await later('signed').sign(key))
    const unsigned = await create(later('unsigned'))
    const before = await tinybar(from)
    await devnet.controls.advanceSeconds(30)
    expect(await tinybar(from)).toBe(before)
    await devnet.controls.advanceSeconds(60)
    expect(await tinybar(from)).toBe(before - 100_000_000)
    const executed = async ({ scheduleId }: typeof signed) =>
      (await get(`schedules/${String(scheduleId)}`))['executed_timestamp']
    expect(await executed(signed)).toMatch(new RegExp(`^${String(expiry.seconds)}\\.`))
    expect(await executed(unsigned)).toBeNull()
    expect(await readStatus(await sign(unsigned.scheduleId))).toBe('INVALID_SCHEDULE_ID')
  })

  test('what would not add up is refused before it waits', async () => {
    const before = await tinybar(payer.accountId)
    const gift = new TransferTransaction().addHbarTransfer(payer.accountId, new Hbar(1_000))
    const scheduled = new ScheduleCreateTransaction().setScheduledTransaction(gift)
    expect(await readStatus(scheduled)).toBe('INVALID_ACCOUNT_AMOUNTS')
    expect(await tinybar(payer.accountId)).toBeLessThan(before)
    const nft = new TransferTransaction().addNftTransfer('0.0.5', 1, from, payer.accountId)
    const call = new ContractExecuteTransaction().setContractId('0.0.1001').setGas(100_000)
    const ofCode = new ScheduleCreateTransaction().setScheduledTransaction(call)
    expect(await readStatus(ofCode)).toBe('NOT_SUPPORTED')
    const late = new Timestamp(devnet.nowSeconds() + 5_400_000, 0)
    const tooLate = give('too late').setExpirationTime(late)
    expect(await readStatus(tooLate)).toBe('SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE')
    const ofNft = new ScheduleCreateTransaction().setScheduledTransaction(nft)
    expect(await readStatus(ofNft)).toBe('NOT_SUPPORTED')
  })

  test('nobody pays for what they have not signed', async () => {
    const transfer = new TransferTransaction()
      .addHbarTransfer(payer.accountId, new Hbar(-1))
      .addHbarTransfer(from, new Hbar(1))
    const before = await tinybar(from)
    const scheduled = new ScheduleCreateTransaction()
      .setScheduledTransaction(transfer)
      .setPayerAccountId(AccountId.fromString(from))
    const { scheduleId } = await create(scheduled)
    expect(await tinybar(from)).toBe(before)
    expect(await readStatus(await sign(scheduleId))).toBe('SUCCESS')
    expect(await tinybar(from)).toBeGreaterThan(before)
  })

  test('a forged signature takes nobody’s place', async () => {
    const { scheduleId } = await create(give('forged'))
    const forged = new ScheduleSignTransaction()
      .setScheduleId(scheduleId)
      .freezeWith(client)
      .addSignature(key.publicKey, new Uint8Array(64))
    expect(await readStatus(forged)).toBe('NO_NEW_VALID_SIGNATURES')
    const before = await tinybar(from)
    expect(await readStatus(await sign(scheduleId))).toBe('SUCCESS')
    expect(await tinybar(from)).toBe(before - 100_000_000)
  })

  test('what is not there is refused by name', async () => {
    const { scheduleId } = await create(give('stays'))
    const remove = new ScheduleDeleteTransaction().setScheduleId(scheduleId)
    expect(await readStatus(remove)).toBe('NOT_SUPPORTED')
    const past = give('past').setExpirationTime(new Timestamp(1, 0))
    expect(await readStatus(past)).toBe(
      'SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME',
    )
    expect(await readStatus(await sign(scheduleId))).toBe('SUCCESS')
  })
})
