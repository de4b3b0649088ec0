import {
  AccountId,
  Status,
  Timestamp,
  TransactionId,
  TransactionRecordQuery,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { mirror } from '../testing/test-clients.fixture.ts'
import { sdkKey, startTransferFixture, toMirrorId } from '../testing/transfer.fixture.ts'

let wallMs = 0

const { client, devnet, payer, readStatus, stop, transfer } = await startTransferFixture({
  wallClock: { unixMs: () => Date.now() + wallMs },
})
afterAll(stop)
afterEach(() => {
  wallMs = 0
})

describe('L15: faults on request', () => {
  test('refuseNext: any status, at the node or at consensus, once', async () => {
    devnet.controls.refuseNext('PAYER_ACCOUNT_DELETED')
    expect(await readStatus(transfer())).toBe('PAYER_ACCOUNT_DELETED')
    devnet.controls.refuseNext('ACCOUNT_FROZEN_FOR_TOKEN', 'consensus')
    expect(await readStatus(transfer())).toBe('ACCOUNT_FROZEN_FOR_TOKEN')
    expect(await readStatus(transfer())).toBe('SUCCESS')
    expect(() => {
      devnet.controls.refuseNext('NO_SUCH_STATUS')
    }).toThrow('not a Hedera response code')
  })

  test('holdConsensus: accepted, unknown to the mirror, without a receipt, until released', async () => {
    devnet.controls.holdConsensus(true)
    const response = await transfer().execute(client)
    expect(devnet.controls.heldTransfers()).toBe(1)
    const path = `/api/v1/transactions/${toMirrorId(response.transactionId)}`
    expect((await mirror(devnet, path)).status).toBe(404)
    devnet.controls.holdConsensus(false)
    expect((await response.getReceipt(client)).status).toBe(Status.Success)
    expect((await mirror(devnet, path)).status).toBe(200)
  })

  test('holdConsensus: what the node accepted is handled up to the last second of its validity', async () => {
    devnet.controls.holdConsensus(true)
    // Our own id, since the SDK dates its ids some seconds back.
    const start = new Timestamp(Math.floor(Date.now() / 1_000), 0)
    const id = TransactionId.withValidStart(AccountId.fromString(payer.accountId), start)
    const pending = transfer().setTransactionId(id).setTransactionValidDuration(60)
    const response = await pending.execute(client)
    wallMs = 50_000
    devnet.controls.holdConsensus(false)
    expect((await response.getReceipt(client)).status).toBe(Status.Success)
  })

  test('dropNextTransfers: accepted and lost', async () => {
    devnet.controls.dropNextTransfers(1)
    const response = await transfer().execute(client)
    expect(await readStatus(transfer())).toBe('SUCCESS')
    const path = `/api/v1/transactions/${toMirrorId(response.transactionId)}`
    expect((await mirror(devnet, path)).status).toBe(404)
  })

  test('ids are forgotten after 180 s of wall time: then the same transaction is expired, not a duplicate', async () => {
    const transaction = transfer().freezeWith(client)
    await transaction.sign(sdkKey(payer))
    const bytes = transaction.toBytes()
    const first = TransferTransaction.fromBytes(bytes)
    expect(await readStatus(first)).toBe('SUCCESS')
    wallMs = 181_000
    // Frozen, since the SDK would otherwise try to put a new id into its operator's expired transaction, and fail.
    const again = await TransferTransaction.fromBytes(bytes)
      .execute(client)
      .catch((cause: unknown) => cause)
    expect(String(again)).toContain('TRANSACTION_EXPIRED')
    const record = await new TransactionRecordQuery()
      .setTransactionId(transaction.transactionId ?? '')
      .setMaxAttempts(1)
      .execute(client)
      .catch((cause: unknown) => cause)
    expect(String(record)).toMatch(/RECORD_NOT_FOUND|RECEIPT_NOT_FOUND|max attempts/)
  })
})
