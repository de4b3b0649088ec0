import {
  Client,
  Hbar,
  PrivateKey,
  Status,
  TransactionId,
  TransactionReceiptQuery,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { accountNamed, mirror } from '../testing/test-clients.fixture.ts'
import { sdkKey, startTransferFixture, toMirrorId } from '../testing/transfer.fixture.ts'

const { client, devnet, payee, payer, readStatus, tinybar, transfer, stop } =
  await startTransferFixture()
afterAll(stop)

describe('L8: consensus refuses, and the fee is charged', () => {
  test('INSUFFICIENT_ACCOUNT_BALANCE: nothing but the fee moves', async () => {
    const before = await tinybar(payer.accountId)
    const credited = await tinybar(payee.accountId)
    expect(await readStatus(transfer({ hbar: 1_000_000 }))).toBe('INSUFFICIENT_ACCOUNT_BALANCE')
    const charged = before - (await tinybar(payer.accountId))
    expect(charged).toBeGreaterThan(0)
    expect(charged).toBeLessThan(1_000_000)
    expect(await tinybar(payee.accountId)).toBe(credited)
  })

  test('INVALID_SIGNATURE: the giver has not signed', async () => {
    const victim = accountNamed(devnet, 'agent-6')
    const before = await tinybar(victim.accountId)
    expect(await readStatus(transfer({ from: victim }))).toBe('INVALID_SIGNATURE')
    expect(await tinybar(victim.accountId)).toBe(before)
  })

  test('INVALID_SIGNATURE: a contract cannot give', async () => {
    const from = { ...payer, accountId: '0.0.98' }
    expect(await readStatus(transfer({ from }))).toBe('INVALID_SIGNATURE')
  })

  test('SPENDER_DOES_NOT_HAVE_ALLOWANCE: an approved transfer without an approval', async () => {
    const transaction = new TransferTransaction()
      .addApprovedHbarTransfer(accountNamed(devnet, 'agent-6').accountId, new Hbar(-1))
      .addHbarTransfer(payee.accountId, new Hbar(1))
    expect(await readStatus(transaction)).toBe('SPENDER_DOES_NOT_HAVE_ALLOWANCE')
  })

  test('INVALID_ACCOUNT_ID: no account has that number', async () => {
    expect(await readStatus(transfer({ to: '0.0.999999' }))).toBe('INVALID_ACCOUNT_ID')
  })

  test('L10: DUPLICATE_TRANSACTION: through a second node, with its own record', async () => {
    const second = Client.forNetwork(
      { [devnet.consensus.address.replace('127.0.0.1', 'localhost')]: '0.0.4' },
      { scheduleNetworkUpdate: false },
    ).setOperator(payer.accountId, sdkKey(payer))
    const transactionId = TransactionId.generate(payer.accountId)
    const first = await transfer({ hbar: 2 }).setTransactionId(transactionId).execute(client)
    await first.getReceipt(client)
    const credited = await tinybar(payee.accountId)
    await transfer({ hbar: 2 }).setTransactionId(transactionId).execute(second)
    const path = `/api/v1/transactions/${toMirrorId(transactionId)}`
    const results = await poll(async () => {
      const { body } = await mirror(devnet, path)
      const transactions = body['transactions'] as { result: string }[]
      return transactions.length === 2 ? transactions.map(({ result }) => result) : undefined
    })
    expect(results).toEqual(['SUCCESS', 'DUPLICATE_TRANSACTION'])
    expect(await tinybar(payee.accountId)).toBe(credited)
    const receipt = await new TransactionReceiptQuery()
      .setTransactionId(transactionId)
      .execute(client)
    expect(receipt.status).toBe(Status.Success)
    second.close()
  })
})

describe('keys', () => {
  test('a list with a threshold: two of three must sign', async () => {
    const keys = [1, 2, 3].map(() => PrivateKey.generateED25519())
    const shared = await devnet.createAccount({ name: 'shared', balanceTinybar: 10n ** 10n })
    devnet.controls.setAccountKey(shared.accountId, {
      kind: 'KEY_LIST',
      threshold: 2,
      keys: keys.map((key) => ({ kind: 'ED25519', publicKey: key.publicKey.toStringRaw() })),
    })
    const { body } = await mirror(devnet, `/api/v1/accounts/${shared.accountId}`)
    expect(body['key']).toMatchObject({ _type: 'ProtobufEncoded' })
    const signedBy = async (count: number): Promise<string> => {
      const transaction = transfer({ from: shared }).freezeWith(client)
      for (const key of keys.slice(0, count)) await transaction.sign(key)
      return readStatus(transaction)
    }
    expect(await signedBy(1)).toBe('INVALID_SIGNATURE')
    expect(await signedBy(2)).toBe('SUCCESS')
  })
})

/** Longest wait for what consensus does, milliseconds: a busy machine takes many times as long as a quiet one. */
const POLL_MS_MAX = 120_000

function poll<T>(read: () => Promise<T | undefined>): Promise<T> {
  const settled = async (): Promise<T> => {
    const value = await read()
    if (value === undefined) throw new Error('the condition was not met in time')
    return value
  }
  return vi.waitFor(settled, { timeout: POLL_MS_MAX, interval: 10 })
}
