import { credentials, Client as GrpcClient } from '@grpc/grpc-js'
import { proto } from '@hiero-ledger/proto'
import {
  AccountBalanceQuery,
  AccountId,
  AccountInfoQuery,
  Client,
  Hbar,
  PrivateKey,
  type PublicKey,
  Status,
  type StatusError,
  Timestamp,
  TokenId,
  type Transaction,
  TransactionId,
  TransactionReceiptQuery,
  TransactionRecordQuery,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Devnet, DevnetAccount } from '../devnet.ts'
import { startDevnet } from '../start-devnet.ts'
import { accountNamed, mirror, sdkClient, sdkKey, viemClient } from '../testing/test-clients.ts'
import { REVERTING_CONTRACT } from '../testing/tiny-contracts.ts'

let devnet: Devnet
let payer: DevnetAccount
let payee: DevnetAccount
let client: Client
let wallMs = 0

beforeAll(async () => {
  devnet = await startDevnet({ wallClock: { unixMs: () => Date.now() + wallMs } })
  payer = accountNamed(devnet, 'agent-1')
  payee = accountNamed(devnet, 'operator')
  client = sdkClient(devnet, payer)
})
afterAll(async () => {
  client.close()
  await devnet.stop()
})

function transfer(
  options: { from?: DevnetAccount; to?: string; hbar?: number } = {},
): TransferTransaction {
  const { from = payer, to = payee.accountId, hbar = 1 } = options
  return new TransferTransaction()
    .addHbarTransfer(from.accountId, new Hbar(-hbar))
    .addHbarTransfer(to, new Hbar(hbar))
}

async function tinybar(account: string): Promise<number> {
  const { body } = await mirror(devnet, `/api/v1/accounts/${account}`)
  return (body['balance'] as { balance: number }).balance
}

async function statusOf(transaction: Transaction): Promise<string> {
  try {
    const response = await transaction.execute(client)
    return (await response.getReceipt(client)).status.toString()
  } catch (cause) {
    return (cause as StatusError).status.toString()
  }
}

function generated(options: { secondsAgo: number }): TransactionId {
  const seconds = Math.floor(Date.now() / 1000) - options.secondsAgo
  return TransactionId.withValidStart(
    AccountId.fromString(payer.accountId),
    new Timestamp(seconds, Math.floor(Math.random() * 1e9)),
  )
}

describe('a transfer by the SDK', () => {
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

  test('is seen by JSON-RPC and by the balance query at once', async () => {
    const viem = viemClient(devnet, payer)
    const { evmAddress: address } = payee
    const before = await viem.getBalance({ address })
    await (await transfer().execute(client)).getReceipt(client)
    const after = await viem.getBalance({ address })
    expect(after - before).toBe(10n ** 18n)
    const query = await new AccountBalanceQuery().setAccountId(payee.accountId).execute(client)
    expect(BigInt(query.hbars.toTinybars().toString()) * 10n ** 10n).toBe(after)
  })

  test('with another fee payer: who gives and who pays the fee both sign', async () => {
    const facilitator = accountNamed(devnet, 'facilitator')
    const before = await tinybar(payer.accountId)
    const transaction = transfer()
      .setTransactionId(TransactionId.generate(facilitator.accountId))
      .freezeWith(client)
    await transaction.sign(sdkKey(payer))
    await transaction.sign(sdkKey(facilitator))
    expect(await statusOf(transaction)).toBe('SUCCESS')
    expect(before - (await tinybar(payer.accountId))).toBe(100_000_000)
  })

  test('by an ED25519 account', async () => {
    const from = accountNamed(devnet, 'ed25519')
    const own = sdkClient(devnet, from)
    const response = await transfer({ from }).execute(own)
    expect((await response.getReceipt(own)).status).toBe(Status.Success)
  })

  test('to an EVM address that nobody has makes a hollow account, which its key completes', async () => {
    const key = PrivateKey.generateECDSA()
    const address = `0x${key.publicKey.toEvmAddress()}`
    expect(await statusOf(transfer({ to: address, hbar: 10 }))).toBe('SUCCESS')
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
    expect(await statusOf(transfer({ to: alias.toString() }))).toBe('SUCCESS')
    const query = await new AccountBalanceQuery().setAccountId(alias).execute(client)
    expect(query.hbars.toTinybars().toNumber()).toBe(100_000_000)
  })

  test('to a contract changes its balance and runs none of its code', async () => {
    const viem = viemClient(devnet, accountNamed(devnet, 'agent-5'))
    const gasPrice = await viem.getGasPrice()
    const hash = await viem.deployContract({ abi: [], bytecode: REVERTING_CONTRACT, gasPrice })
    const { contractAddress } = await viem.waitForTransactionReceipt({ hash })
    const { body } = await mirror(devnet, `/api/v1/contracts/${contractAddress}`)
    expect(await statusOf(transfer({ to: String(body['contract_id']), hbar: 2 }))).toBe('SUCCESS')
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

describe('a node turns away, and nobody is charged', () => {
  test('DUPLICATE_TRANSACTION: the same bytes again', async () => {
    const transaction = transfer().freezeWith(client)
    await transaction.sign(sdkKey(payer))
    const bytes = transaction.toBytes()
    expect(await statusOf(TransferTransaction.fromBytes(bytes))).toBe('SUCCESS')
    expect(await statusOf(TransferTransaction.fromBytes(bytes))).toBe('DUPLICATE_TRANSACTION')
  })

  test('DUPLICATE_TRANSACTION: ten at once, and exactly one moves', async () => {
    const transaction = transfer({ hbar: 3 }).freezeWith(client)
    await transaction.sign(sdkKey(payer))
    const bytes = transaction.toBytes()
    const before = await tinybar(payee.accountId)
    const statuses = await Promise.all(
      Array.from({ length: 10 }, () => statusOf(TransferTransaction.fromBytes(bytes))),
    )
    expect(statuses.toSorted()).toEqual([...Array(9).fill('DUPLICATE_TRANSACTION'), 'SUCCESS'])
    expect((await tinybar(payee.accountId)) - before).toBe(300_000_000)
  })

  test('TRANSACTION_EXPIRED: its validity is over, by wall time', async () => {
    const transaction = transfer().setTransactionId(generated({ secondsAgo: 130 }))
    expect(await statusOf(transaction.setRegenerateTransactionId(false))).toBe(
      'TRANSACTION_EXPIRED',
    )
  })

  test('TRANSACTION_EXPIRED comes even when the ledger has travelled, and never because it has', async () => {
    await devnet.controls.advanceSeconds(86_400)
    expect(await statusOf(transfer())).toBe('SUCCESS')
  })

  test('INVALID_TRANSACTION_START: not yet valid', async () => {
    const transaction = transfer().setTransactionId(generated({ secondsAgo: -60 }))
    expect(await statusOf(transaction)).toBe('INVALID_TRANSACTION_START')
  })

  test('INVALID_TRANSACTION_DURATION: over 180 s, and under 15 s', async () => {
    for (const seconds of [181, 14]) {
      const transaction = transfer().setTransactionValidDuration(seconds)
      expect(await statusOf(transaction)).toBe('INVALID_TRANSACTION_DURATION')
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

  test('INVALID_NODE_ACCOUNT: for a node that is not here', async () => {
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

  test('INSUFFICIENT_TX_FEE: the fee is more than the payer allows', async () => {
    const transaction = transfer().setMaxTransactionFee(Hbar.fromTinybars(1))
    expect(await statusOf(transaction)).toBe('INSUFFICIENT_TX_FEE')
  })

  test('PAYER_ACCOUNT_NOT_FOUND: nobody has that number', async () => {
    const own = sdkClient(devnet, payer).setOperator('0.0.999999', sdkKey(payer))
    const failure = await transfer()
      .execute(own)
      .catch((cause: unknown) => cause)
    expect((failure as StatusError).status).toBe(Status.PayerAccountNotFound)
  })

  test('MEMO_TOO_LONG: over 100 bytes of UTF-8', async () => {
    expect(await statusOf(transfer().setTransactionMemo('é'.repeat(51)))).toBe('MEMO_TOO_LONG')
    expect(await statusOf(transfer().setTransactionMemo('é'.repeat(50)))).toBe('SUCCESS')
  })

  test('INVALID_ZERO_BYTE_IN_STRING: a memo with a zero byte', async () => {
    expect(await statusOf(transfer().setTransactionMemo('a\0b'))).toBe(
      'INVALID_ZERO_BYTE_IN_STRING',
    )
  })

  test('INVALID_ACCOUNT_AMOUNTS: the lines do not add up to nothing', async () => {
    const transaction = transfer().addHbarTransfer(
      accountNamed(devnet, 'agent-2').accountId,
      new Hbar(1),
    )
    expect(await statusOf(transaction)).toBe('INVALID_ACCOUNT_AMOUNTS')
  })

  test('TRANSFER_LIST_SIZE_LIMIT_EXCEEDED: over ten lines', async () => {
    const transaction = new TransferTransaction().addHbarTransfer(payer.accountId, new Hbar(-10))
    for (const { accountId } of devnet.accounts.slice(1, 5).concat(devnet.accounts.slice(6, 12))) {
      transaction.addHbarTransfer(accountId, new Hbar(1))
    }
    expect(await statusOf(transaction)).toBe('TRANSFER_LIST_SIZE_LIMIT_EXCEEDED')
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

  test('TRANSACTION_OVERSIZE, INVALID_TRANSACTION and INVALID_TRANSACTION_BODY: bytes that are no transaction', async () => {
    expect(await submitRaw(Buffer.alloc(6_145))).toBe('TRANSACTION_OVERSIZE')
    expect(await submitRaw(Buffer.from('ffff', 'hex'))).toBe('INVALID_TRANSACTION')
    expect(await submitRaw(Buffer.alloc(0))).toBe('INVALID_TRANSACTION')
    const signedTransactionBytes = proto.SignedTransaction.encode({
      bodyBytes: Buffer.from([]),
    }).finish()
    const raw = proto.Transaction.encode({ signedTransactionBytes }).finish()
    expect(await submitRaw(raw)).toMatch(/^INVALID_TRANSACTION/)
  })

  test('NOT_SUPPORTED: tokens do not exist here', async () => {
    const transaction = new TransferTransaction()
      .addTokenTransfer(TokenId.fromString('0.0.5'), payer.accountId, -1)
      .addTokenTransfer(TokenId.fromString('0.0.5'), payee.accountId, 1)
    expect(await statusOf(transaction)).toBe('NOT_SUPPORTED')
  })
})

describe('consensus refuses, and the fee is charged', () => {
  test('INSUFFICIENT_ACCOUNT_BALANCE: nothing but the fee moves', async () => {
    const before = await tinybar(payer.accountId)
    const credited = await tinybar(payee.accountId)
    expect(await statusOf(transfer({ hbar: 1_000_000 }))).toBe('INSUFFICIENT_ACCOUNT_BALANCE')
    const charged = before - (await tinybar(payer.accountId))
    expect(charged).toBeGreaterThan(0)
    expect(charged).toBeLessThan(1_000_000)
    expect(await tinybar(payee.accountId)).toBe(credited)
  })

  test('INVALID_SIGNATURE: who gives has not signed', async () => {
    const victim = accountNamed(devnet, 'agent-6')
    const before = await tinybar(victim.accountId)
    expect(await statusOf(transfer({ from: victim }))).toBe('INVALID_SIGNATURE')
    expect(await tinybar(victim.accountId)).toBe(before)
  })

  test('INVALID_SIGNATURE: a contract cannot give', async () => {
    const from = { ...payer, accountId: '0.0.98' }
    expect(await statusOf(transfer({ from }))).toBe('INVALID_SIGNATURE')
  })

  test('SPENDER_DOES_NOT_HAVE_ALLOWANCE: an approved transfer without an approval', async () => {
    const transaction = new TransferTransaction()
      .addApprovedHbarTransfer(accountNamed(devnet, 'agent-6').accountId, new Hbar(-1))
      .addHbarTransfer(payee.accountId, new Hbar(1))
    expect(await statusOf(transaction)).toBe('SPENDER_DOES_NOT_HAVE_ALLOWANCE')
  })

  test('INVALID_ACCOUNT_ID: nobody has that number', async () => {
    expect(await statusOf(transfer({ to: '0.0.999999' }))).toBe('INVALID_ACCOUNT_ID')
  })

  test('DUPLICATE_TRANSACTION: through a second node, with a record of its own', async () => {
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
      return statusOf(transaction)
    }
    expect(await signedBy(1)).toBe('INVALID_SIGNATURE')
    expect(await signedBy(2)).toBe('SUCCESS')
  })
})

describe('faults on request', () => {
  test('refuseNext: any status, at the node or at consensus, once', async () => {
    devnet.controls.refuseNext('PAYER_ACCOUNT_DELETED')
    expect(await statusOf(transfer())).toBe('PAYER_ACCOUNT_DELETED')
    devnet.controls.refuseNext('ACCOUNT_FROZEN_FOR_TOKEN', 'consensus')
    expect(await statusOf(transfer())).toBe('ACCOUNT_FROZEN_FOR_TOKEN')
    expect(await statusOf(transfer())).toBe('SUCCESS')
    expect(() => {
      devnet.controls.refuseNext('NO_SUCH_STATUS')
    }).toThrow('no Hedera response code')
  })

  test('holdConsensus: accepted, unknown to the mirror, without a receipt, until let go', async () => {
    devnet.controls.holdConsensus(true)
    const response = await transfer().execute(client)
    expect(devnet.controls.heldTransfers()).toBe(1)
    const path = `/api/v1/transactions/${toMirrorId(response.transactionId)}`
    expect((await mirror(devnet, path)).status).toBe(404)
    devnet.controls.holdConsensus(false)
    expect((await response.getReceipt(client)).status).toBe(Status.Success)
    expect((await mirror(devnet, path)).status).toBe(200)
  })

  test('dropNextTransfers: accepted and lost', async () => {
    devnet.controls.dropNextTransfers(1)
    const response = await transfer().execute(client)
    expect(await statusOf(transfer())).toBe('SUCCESS')
    const path = `/api/v1/transactions/${toMirrorId(response.transactionId)}`
    expect((await mirror(devnet, path)).status).toBe(404)
  })

  test('ids are forgotten after 180 s of wall time: then the same transaction is expired, not a duplicate', async () => {
    const transaction = transfer().freezeWith(client)
    await transaction.sign(sdkKey(payer))
    const bytes = transaction.toBytes()
    const first = TransferTransaction.fromBytes(bytes)
    expect(await statusOf(first)).toBe('SUCCESS')
    wallMs = 181_000
    // The SDK would put a new id into an expired transaction of its operator, and fails at that: it is frozen.
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
    wallMs = 0
  })
})

/** Sends bytes to the node as they are and returns the name of its answer. */
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

/** The mirror node's form of an SDK transaction id. */
function toMirrorId(id: TransactionId): string {
  const { accountId, validStart } = id
  return `${String(accountId)}-${String(validStart?.seconds)}-${String(validStart?.nanos).padStart(9, '0')}`
}

/** Longest wait for what consensus does, milliseconds: a busy machine takes a second for some milliseconds of work. */
const POLL_MS_MAX = 20_000

function poll<T>(read: () => Promise<T | undefined>): Promise<T> {
  const settled = async (): Promise<T> => {
    const value = await read()
    if (value === undefined) throw new Error('it did not come to be')
    return value
  }
  return vi.waitFor(settled, { timeout: POLL_MS_MAX, interval: 10 })
}
