import {
  AccountBalanceQuery,
  AccountInfoQuery,
  Client,
  Hbar,
  PrivateKey,
  type PublicKey,
  Status,
  TransactionId,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { afterAll, describe, expect, test } from 'vitest'
import { accountNamed, mirror, viemClient } from '../testing/test-clients.fixture.ts'
import { REVERTING_CONTRACT } from '../testing/tiny-contracts.fixture.ts'
import { sdkClient, sdkKey, startTransferFixture } from '../testing/transfer.fixture.ts'

const { client, devnet, payee, payer, readStatus, tinybar, transfer, stop } =
  await startTransferFixture()
afterAll(stop)

describe('L8: a transfer by the SDK', () => {
  test('moves HBAR, charges the fee payer, and has a receipt and a record', async () => {
    const before = await tinybar(payer.accountId)
    const response = await transfer({ hbar: 5 }).setTransactionMemo('x402:test').execute(client)
    const receipt = await response.getReceipt(client)
    expect(receipt.status).toBe(Status.Success)
    expect(receipt.exchangeRate?.cents).toBe(234_500)
    const record = await response.getRecord(client)
    const fee = record.transactionFee.toTinybars().toNumber()
    expect(fee).toBeGreaterThan(0)
    expect(record.transactionMemo).toBe('x402:test')
    expect(
      record.transfers.map((line) => [String(line.accountId), line.amount.toTinybars().toNumber()]),
    ).toEqual([
      [payer.accountId, -500_000_000 - fee],
      ['0.0.98', fee],
      [payee.accountId, 500_000_000],
    ])
    expect(before - (await tinybar(payer.accountId))).toBe(500_000_000 + fee)
  })

  test('is visible to JSON-RPC and to the balance query at once', async () => {
    const viem = viemClient(devnet, payer)
    const { evmAddress: address } = payee
    const before = await viem.getBalance({ address })
    await (await transfer().execute(client)).getReceipt(client)
    const after = await viem.getBalance({ address })
    expect(after - before).toBe(10n ** 18n)
    const query = await new AccountBalanceQuery().setAccountId(payee.accountId).execute(client)
    expect(BigInt(query.hbars.toTinybars().toString()) * 10n ** 10n).toBe(after)
  })

  test('with a separate fee payer: the giver and the fee payer both sign', async () => {
    const facilitator = accountNamed(devnet, 'facilitator')
    const before = await tinybar(payer.accountId)
    const transaction = transfer()
      .setTransactionId(TransactionId.generate(facilitator.accountId))
      .freezeWith(client)
    await transaction.sign(sdkKey(payer))
    await transaction.sign(sdkKey(facilitator))
    expect(await readStatus(transaction)).toBe('SUCCESS')
    expect(before - (await tinybar(payer.accountId))).toBe(100_000_000)
  })

  test('by an ED25519 account', async () => {
    const from = accountNamed(devnet, 'ed25519')
    const own = sdkClient(devnet, from)
    const response = await transfer({ from }).execute(own)
    expect((await response.getReceipt(own)).status).toBe(Status.Success)
  })

  test('to an unknown EVM address makes a hollow account, which its key completes', async () => {
    const key = PrivateKey.generateECDSA()
    const address = `0x${key.publicKey.toEvmAddress()}`
    expect(await readStatus(transfer({ to: address, hbar: 10 }))).toBe('SUCCESS')
    const { body } = await mirror(devnet, `/api/v1/accounts/${address}`)
    expect(body).toMatchObject({
      key: null,
      evm_address: address,
      balance: { balance: 1_000_000_000 },
    })
    const own = sdkClient(devnet, payer).setOperator(String(body['account']), key)
    const spend = new TransferTransaction()
      .addHbarTransfer(String(body['account']), new Hbar(-1))
      .addHbarTransfer(payee.accountId, new Hbar(1))
    expect((await (await spend.execute(own)).getReceipt(own)).status).toBe(Status.Success)
    const completed = await mirror(devnet, `/api/v1/accounts/${address}`)
    expect(completed.body['key']).toEqual({
      _type: 'ECDSA_SECP256K1',
      key: key.publicKey.toStringRaw(),
    })
  })

  test('to a key’s alias makes an account with that key', async () => {
    const key = PrivateKey.generateED25519()
    const alias = key.publicKey.toAccountId(0, 0)
    expect(await readStatus(transfer({ to: alias.toString() }))).toBe('SUCCESS')
    const query = await new AccountBalanceQuery().setAccountId(alias).execute(client)
    expect(query.hbars.toTinybars().toNumber()).toBe(100_000_000)
  })

  test('L11: to a contract changes its balance and runs none of its code', async () => {
    const viem = viemClient(devnet, accountNamed(devnet, 'agent-5'))
    const gasPrice = await viem.getGasPrice()
    const hash = await viem.deployContract({ abi: [], bytecode: REVERTING_CONTRACT, gasPrice })
    const { contractAddress } = await viem.waitForTransactionReceipt({ hash })
    const { body } = await mirror(devnet, `/api/v1/contracts/${contractAddress}`)
    expect(await readStatus(transfer({ to: String(body['contract_id']), hbar: 2 }))).toBe('SUCCESS')
    expect(await viem.getBalance({ address: contractAddress ?? '0x' })).toBe(2n * 10n ** 18n)
  })

  test('account info shows key and balance', async () => {
    const info = await new AccountInfoQuery().setAccountId(payee.accountId).execute(client)
    expect(String(info.accountId)).toBe(payee.accountId)
    expect((info.key as PublicKey).toStringRaw()).toBe(sdkKey(payee).publicKey.toStringRaw())
    expect(info.balance.toTinybars().toNumber()).toBe(await tinybar(payee.accountId))
  })

  test('Client.forLocalNode needs nothing but the ports', () => {
    const local = Client.forLocalNode()
    expect(local.network).toEqual({ '127.0.0.1:50211': expect.anything() })
    expect(String(local.network['127.0.0.1:50211'])).toBe(devnet.consensus.nodeAccountId)
    local.close()
  })
})
