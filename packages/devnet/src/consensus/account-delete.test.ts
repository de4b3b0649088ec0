import {
  AccountBalanceQuery,
  AccountCreateTransaction,
  AccountDeleteTransaction,
  AccountInfoQuery,
  Hbar,
  PrivateKey,
  type StatusError,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { afterAll, expect, test } from 'vitest'
import { mirror } from '../testing/test-clients.fixture.ts'
import { startTransferFixture } from '../testing/transfer.fixture.ts'

const { client, devnet, payee, payer, readStatus, stop, tinybar } = await startTransferFixture()
afterAll(stop)

const key = PrivateKey.generateECDSA()

async function create(): Promise<string> {
  const creation = new AccountCreateTransaction()
    .setKeyWithoutAlias(key)
    .setInitialBalance(new Hbar(5))
  const { accountId } = await (await creation.execute(client)).getReceipt(client)
  return String(accountId)
}
const deletion = (id: string, heir = payee.accountId) =>
  new AccountDeleteTransaction().setAccountId(id).setTransferAccountId(heir).freezeWith(client)

test('L8: AccountDelete gives everything to the heir, and the account neither takes nor answers any more', async () => {
  const id = await create()
  const before = await tinybar(payee.accountId)
  expect(await readStatus(deletion(id))).toBe('INVALID_SIGNATURE')
  expect(await readStatus(await deletion(id).sign(key))).toBe('SUCCESS')
  expect((await tinybar(payee.accountId)) - before).toBe(500_000_000)
  const { body } = await mirror(devnet, `/api/v1/accounts/${id}`)
  expect(body).toMatchObject({ deleted: true, balance: { balance: 0 } })
  const transfer = new TransferTransaction()
    .addHbarTransfer(payer.accountId, new Hbar(-1))
    .addHbarTransfer(id, new Hbar(1))
  expect(await readStatus(transfer)).toBe('ACCOUNT_DELETED')
  for (const query of [
    new AccountInfoQuery().setAccountId(id),
    new AccountBalanceQuery().setAccountId(id),
  ]) {
    const refused = await query.execute(client).catch((cause: unknown) => cause)
    expect((refused as StatusError).status.toString()).toBe('ACCOUNT_DELETED')
  }
})

test('L8: AccountDelete is refused without an account, and with the account itself as its heir', async () => {
  const id = await create()
  const toItself = await deletion(id, id).sign(key)
  expect(await readStatus(toItself)).toBe('TRANSFER_ACCOUNT_SAME_AS_DELETE_ACCOUNT')
  const nobody = new AccountDeleteTransaction().setTransferAccountId(payee.accountId)
  expect(await readStatus(nobody)).toBe('ACCOUNT_ID_DOES_NOT_EXIST')
})

test('L8: the address of an account’s own key needs no second signature (HIP-583)', async () => {
  const own = PrivateKey.generateECDSA()
  const creation = new AccountCreateTransaction()
    .setKeyWithoutAlias(own)
    .setAlias(own.publicKey.toEvmAddress())
  expect(await readStatus(creation)).toBe('SUCCESS')
})
