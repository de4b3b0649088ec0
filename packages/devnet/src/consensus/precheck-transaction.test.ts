import { credentials, Client as GrpcClient } from '@grpc/grpc-js'
import { proto } from '@hiero-ledger/proto'
import {
  AccountId,
  Client,
  FreezeTransaction,
  Hbar,
  PrivateKey,
  Status,
  type StatusError,
  Timestamp,
  TransactionId,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { afterAll, describe, expect, test } from 'vitest'
import { accountNamed } from '../testing/test-clients.fixture.ts'
import { sdkClient, sdkKey, startTransferFixture } from '../testing/transfer.fixture.ts'

const { client, devnet, payee, payer, readStatus, tinybar, transfer, stop } =
  await startTransferFixture()
afterAll(stop)

function generated(options: { secondsAgo: number }): TransactionId {
  const seconds = Math.floor(Date.now() / 1000) - options.secondsAgo
  return TransactionId.withValidStart(
    AccountId.fromString(payer.accountId),
    new Timestamp(seconds, Math.floor(Math.random() * 1e9)),
  )
}

describe('L8: a node refuses, and nobody is charged', () => {
  test('DUPLICATE_TRANSACTION: the same bytes again', async () => {
    const transaction = transfer().freezeWith(client)
    await transaction.sign(sdkKey(payer))
    const bytes = transaction.toBytes()
    expect(await readStatus(TransferTransaction.fromBytes(bytes))).toBe('SUCCESS')
    expect(await readStatus(TransferTransaction.fromBytes(bytes))).toBe('DUPLICATE_TRANSACTION')
  })

  test('DUPLICATE_TRANSACTION: of ten at once, exactly one moves', async () => {
    const transaction = transfer({ hbar: 3 }).freezeWith(client)
    await transaction.sign(sdkKey(payer))
    const bytes = transaction.toBytes()
    const before = await tinybar(payee.accountId)
    const statuses = await Promise.all(
      Array.from({ length: 10 }, () => readStatus(TransferTransaction.fromBytes(bytes))),
    )
    expect(statuses.toSorted()).toEqual([...Array(9).fill('DUPLICATE_TRANSACTION'), 'SUCCESS'])
    expect((await tinybar(payee.accountId)) - before).toBe(300_000_000)
  })

  test('TRANSACTION_EXPIRED: its validity is over, by wall time', async () => {
    const transaction = transfer().setTransactionId(generated({ secondsAgo: 130 }))
    expect(await readStatus(transaction.setRegenerateTransactionId(false))).toBe(
      'TRANSACTION_EXPIRED',
    )
  })

  test('L9: TRANSACTION_EXPIRED depends on wall time even if the ledger has travelled, never on travel', async () => {
    await devnet.controls.advanceSeconds(86_400)
    expect(await readStatus(transfer())).toBe('SUCCESS')
  })

  test('INVALID_TRANSACTION_START: not yet valid', async () => {
    const transaction = transfer().setTransactionId(generated({ secondsAgo: -60 }))
    expect(await readStatus(transaction)).toBe('INVALID_TRANSACTION_START')
  })

  test('INVALID_TRANSACTION_DURATION: over 180 s, and under 15 s', async () => {
    for (const seconds of [181, 14]) {
      const transaction = transfer().setTransactionValidDuration(seconds)
      expect(await readStatus(transaction)).toBe('INVALID_TRANSACTION_DURATION')
    }
  })

  test('INVALID_SIGNATURE: the fee payer’s key is not among the signatures', async () => {
    const stranger = PrivateKey.generateECDSA()
    const own = sdkClient(devnet, payer).setOperator(payer.accountId, stranger)
    const failure = await transfer()
      .execute(own)
      .catch((cause: unknown) => cause)
    expect((failure as StatusError).status).toBe(Status.InvalidSignature)
  })

  test('INVALID_NODE_ACCOUNT: for a node that does not exist here', async () => {
    const own = Client.forNetwork(
      { [devnet.consensus.address]: '0.0.7' },
      { scheduleNetworkUpdate: false },
    )
      .setOperator(payer.accountId, sdkKey(payer))
      .setMaxAttempts(1)
    const failure = await transfer()
      .execute(own)
      .catch((cause: unknown) => cause)
    expect(String(failure)).toContain('INVALID_NODE_ACCOUNT')
  })

  test('INSUFFICIENT_PAYER_BALANCE: the payer cannot pay the fee', async () => {
    const poor = await devnet.createAccount({ name: 'poor', balanceTinybar: 10n })
    const own = sdkClient(devnet, poor)
    const failure = await new TransferTransaction()
      .addHbarTransfer(poor.accountId, Hbar.fromTinybars(-1))
      .addHbarTransfer(payee.accountId, Hbar.fromTinybars(1))
      .execute(own)
      .catch((cause: unknown) => cause)
    expect((failure as StatusError).status).toBe(Status.InsufficientPayerBalance)
  })

  test('INSUFFICIENT_TX_FEE: the fee is higher than the payer allows', async () => {
    const transaction = transfer().setMaxTransactionFee(Hbar.fromTinybars(1))
    expect(await readStatus(transaction)).toBe('INSUFFICIENT_TX_FEE')
  })

  test('PAYER_ACCOUNT_NOT_FOUND: no account has that number', async () => {
    const own = sdkClient(devnet, payer).setOperator('0.0.999999', sdkKey(payer))
    const failure = await transfer()
      .execute(own)
      .catch((cause: unknown) => cause)
    expect((failure as StatusError).status).toBe(Status.PayerAccountNotFound)
  })

  test('MEMO_TOO_LONG: over 100 bytes of UTF-8', async () => {
    expect(await readStatus(transfer().setTransactionMemo('é'.repeat(51)))).toBe('MEMO_TOO_LONG')
    expect(await readStatus(transfer().setTransactionMemo('é'.repeat(50)))).toBe('SUCCESS')
  })

  test('INVALID_ZERO_BYTE_IN_STRING: a memo with a zero byte', async () => {
    expect(await readStatus(transfer().setTransactionMemo('a\0b'))).toBe(
      'INVALID_ZERO_BYTE_IN_STRING',
    )
  })

  test('INVALID_ACCOUNT_AMOUNTS: the lines do not add up to zero', async () => {
    const transaction = transfer().addHbarTransfer(
      accountNamed(devnet, 'agent-2').accountId,
      new Hbar(1),
    )
    expect(await readStatus(transaction)).toBe('INVALID_ACCOUNT_AMOUNTS')
  })

  test('TRANSFER_LIST_SIZE_LIMIT_EXCEEDED: over ten lines', async () => {
    const transaction = new TransferTransaction().addHbarTransfer(payer.accountId, new Hbar(-10))
    for (const { accountId } of devnet.accounts.slice(1, 5).concat(devnet.accounts.slice(6, 12))) {
      transaction.addHbarTransfer(accountId, new Hbar(1))
    }
    expect(await readStatus(transaction)).toBe('TRANSFER_LIST_SIZE_LIMIT_EXCEEDED')
  })

  test('TRANSACTION_HAS_UNKNOWN_FIELDS: fields that no node knows', async () => {
    const transaction = transfer().freezeWith(client)
    const list = proto.TransactionList.decode(transaction.toBytes())
    const [first] = list.transactionList ?? []
    const signed = proto.SignedTransaction.decode(first?.signedTransactionBytes ?? new Uint8Array())
    // Field 999, a varint 1.
    const bodyBytes = Buffer.concat([
      signed.bodyBytes ?? Buffer.alloc(0),
      Buffer.from('b83e01', 'hex'),
    ])
    const signature = sdkKey(payer).sign(bodyBytes)
    const pubKeyPrefix = sdkKey(payer).publicKey.toBytesRaw()
    const sigMap = { sigPair: [{ pubKeyPrefix, ECDSASecp256k1: signature }] }
    const signedTransactionBytes = proto.SignedTransaction.encode({ bodyBytes, sigMap }).finish()
    const raw = proto.Transaction.encode({ signedTransactionBytes }).finish()
    expect(await submitRaw(raw)).toBe('TRANSACTION_HAS_UNKNOWN_FIELDS')
  })

  test('TRANSACTION_OVERSIZE, INVALID_TRANSACTION and INVALID_TRANSACTION_BODY: bytes that are not a transaction', async () => {
    expect(await submitRaw(Buffer.alloc(6_145))).toBe('TRANSACTION_OVERSIZE')
    expect(await submitRaw(Buffer.from('ffff', 'hex'))).toBe('INVALID_TRANSACTION')
    expect(await submitRaw(Buffer.alloc(0))).toBe('INVALID_TRANSACTION')
    const signedTransactionBytes = proto.SignedTransaction.encode({
      bodyBytes: Buffer.from([]),
    }).finish()
    const raw = proto.Transaction.encode({ signedTransactionBytes }).finish()
    expect(await submitRaw(raw)).toMatch(/^INVALID_TRANSACTION/)
  })

  test('UNIMPLEMENTED: other services', async () => {
    const failure = await new FreezeTransaction().execute(client).catch(String)
    expect(failure).toContain('UNIMPLEMENTED')
  })
})

/** Sends bytes to the node unchanged and returns the name of its answer. */
async function submitRaw(bytes: Uint8Array): Promise<string> {
  const node = new GrpcClient(devnet.consensus.address, credentials.createInsecure())
  const answer = await new Promise<Buffer>((resolve, reject) => {
    node.makeUnaryRequest(
      '/proto.CryptoService/cryptoTransfer',
      (request: Uint8Array) => Buffer.from(request),
      (response: Buffer) => response,
      bytes,
      (failure, response) => {
        if (response === undefined) reject(failure ?? new Error('no answer'))
        else resolve(response)
      },
    )
  })
  node.close()
  const { nodeTransactionPrecheckCode } = proto.TransactionResponse.decode(answer)
  return proto.ResponseCodeEnum[nodeTransactionPrecheckCode ?? 0] ?? ''
}
