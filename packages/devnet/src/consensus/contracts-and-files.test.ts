import {
  BatchTransaction,
  ContractCreateFlow,
  ContractCreateTransaction,
  ContractExecuteTransaction,
  ContractFunctionParameters,
  type ContractId,
  FileAppendTransaction,
  FileCreateTransaction,
  FileDeleteTransaction,
  Hbar,
  PrivateKey,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { hexToBytes } from 'viem'
import { afterAll, expect, test } from 'vitest'
import { accountNamed, mirror, rpc, viemClient } from '../testing/test-clients.fixture.ts'
import { LOGGING_CONTRACT, REVERTING_CONTRACT } from '../testing/tiny-contracts.fixture.ts'
import { startTransferFixture, toMirrorId } from '../testing/transfer.fixture.ts'

const { client, devnet, payer, readStatus, stop, tinybar } = await startTransferFixture()
afterAll(stop)

const get = async (path: string) => (await mirror(devnet, `/api/v1/${path}`)).body
const GAS = 200_000

const toId = ({ num }: ContractId): string => `0.0.${num.toString()}`

async function create(bytecode: `0x${string}`): Promise<string> {
  const response = await new ContractCreateTransaction()
    .setBytecode(hexToBytes(bytecode))
    .setGas(GAS)
    .setContractMemo('tiny')
    .execute(client)
  const { contractId } = await response.getReceipt(client)
  if (contractId === null) throw new Error('no contract was created')
  return toId(contractId)
}
const call = (id: string, gas = GAS) =>
  new ContractExecuteTransaction()
    .setContractId(id)
    .setGas(gas)
    .setFunctionParameters(hexToBytes('0xabcd'))

test('L8: ContractCreate and ContractCall through the SDK, as records and the mirror node tell them', async () => {
  const id = await create(LOGGING_CONTRACT)
  expect(await get(`contracts/${id}`)).toMatchObject({
    contract_id: id,
    memo: 'tiny',
    bytecode: LOGGING_CONTRACT,
  })
  const before = await tinybar(payer.accountId)
  const response = await call(id).execute(client)
  const record = await response.getRecord(client)
  expect(record.contractFunctionResult).toMatchObject({ errorMessage: '' })
  expect(toId(record.contractFunctionResult?.contractId as ContractId)).toBe(id)
  expect(
    record.contractFunctionResult?.logs.map(({ data }) => Buffer.from(data).toString('hex')),
  ).toEqual(['abcd'])
  const path = toMirrorId(response.transactionId)
  const result = await get(`contracts/results/${path}`)
  expect(result).toMatchObject({
    contract_id: id,
    result: 'SUCCESS',
    status: '0x1',
    r: null,
    v: null,
    nonce: null,
    type: null,
    function_parameters: '0xabcd',
    logs: [{ contract_id: id, data: '0xabcd' }],
  })
  expect(result['from']).toBe(payer.evmAddress.toLowerCase())
  expect((await get(`transactions/${path}`))['transactions']).toMatchObject([
    {
      name: 'CONTRACTCALL',
      entity_id: id,
      result: 'SUCCESS',
      consensus_timestamp: result['timestamp'],
    },
  ])
  const fee = Number(result['gas_used']) * 109
  expect(before - (await tinybar(payer.accountId))).toBe(fee)
  expect(record.transactionFee.toTinybars().toNumber()).toBe(fee)
  const shown = await rpc(devnet, 'eth_getTransactionByHash', [result['hash']])
  expect(shown.result).toMatchObject({ hash: result['hash'], input: '0xabcd' })
})

test('L8: a ContractCall of a system contract returns its value in the record', async () => {
  const response = await new ContractExecuteTransaction()
    .setContractId('0.0.360')
    .setGas(GAS)
    .setFunction('tinycentsToTinybars', new ContractFunctionParameters().addUint256(12_000))
    .execute(client)
  const { contractFunctionResult } = await response.getRecord(client)
  const { result } = await rpc(devnet, 'eth_call', [
    {
      to: '0x0000000000000000000000000000000000000168',
      data: `0x2e3cff6a${(12_000).toString(16).padStart(64, '0')}`,
    },
    'latest',
  ])
  const { call_result: shown } = await get(
    `contracts/results/${toMirrorId(response.transactionId)}`,
  )
  expect(shown).toBe(result)
  expect(BigInt(contractFunctionResult?.getUint256(0).toFixed() ?? 0)).toBe(BigInt(String(result)))
})

test('L8: a ContractCall that reverts is charged for its gas, and its record says why', async () => {
  const id = await create(REVERTING_CONTRACT)
  const response = await call(id).execute(client)
  await expect(response.getReceipt(client)).rejects.toThrow('CONTRACT_REVERT_EXECUTED')
  expect(await get(`contracts/results/${toMirrorId(response.transactionId)}`)).toMatchObject({
    result: 'CONTRACT_REVERT_EXECUTED',
    call_result: '0xabcd',
    error_message: '0xabcd',
    status: '0x0',
  })
})

test('L8: a ContractCall leaves the payer’s Ethereum nonce alone', async () => {
  const id = await create(LOGGING_CONTRACT)
  const sender = viemClient(devnet, accountNamed(devnet, payer.name))
  const nonce = () => sender.getTransactionCount({ address: sender.account.address })
  const before = await nonce()
  expect(await readStatus(call(id))).toBe('SUCCESS')
  expect(await nonce()).toBe(before)
  const hash = await sender.sendTransaction({
    to: accountNamed(devnet, 'agent-3').evmAddress,
    value: 10n ** 18n,
  })
  expect((await sender.waitForTransactionReceipt({ hash })).status).toBe('success')
})

test('L8: what consensus refuses of contracts, in its words', async () => {
  const id = await create(LOGGING_CONTRACT)
  expect(await readStatus(call(id, 20_000))).toBe('INSUFFICIENT_GAS')
  expect(await readStatus(call(id, 15_000_001).setMaxTransactionFee(new Hbar(100)))).toBe(
    'MAX_GAS_LIMIT_EXCEEDED',
  )
  expect(await readStatus(call(id, 5_000_000).setMaxTransactionFee(new Hbar(1)))).toBe(
    'INSUFFICIENT_TX_FEE',
  )
  expect(await readStatus(call('0.0.987654'))).toBe('INVALID_CONTRACT_ID')
  expect(
    await readStatus(new ContractCreateTransaction().setBytecodeFileId('0.0.987654').setGas(GAS)),
  ).toBe('INVALID_FILE_ID')
})

test('L8: ContractCreateFlow puts code that is too large for a message into a file, and deletes it', async () => {
  const runtime = LOGGING_CONTRACT.slice(2)
  const bytecode = `${runtime}${'00'.repeat(7_000)}`
  const response = await new ContractCreateFlow()
    .setBytecode(bytecode)
    .setGas(1_000_000)
    .execute(client)
  const { contractId } = await response.getReceipt(client)
  expect(await readStatus(call(toId(contractId as ContractId)))).toBe('SUCCESS')
  const names = (
    (await get('transactions?order=desc&limit=5'))['transactions'] as { name: string }[]
  ).map(({ name }) => name)
  expect(new Set(names)).toEqual(
    new Set(['CONTRACTCALL', 'FILEDELETE', 'CONTRACTCREATEINSTANCE', 'FILEAPPEND']),
  )
})

test('L8: a file grows only by its keys, and never once it is deleted', async () => {
  const key = PrivateKey.generateED25519()
  const created = await (
    await (
      await new FileCreateTransaction()
        .setKeys([key])
        .setContents('6000')
        .freezeWith(client)
        .sign(key)
    ).execute(client)
  ).getReceipt(client)
  const fileId = created.fileId as NonNullable<typeof created.fileId>
  const append = () => new FileAppendTransaction().setFileId(fileId).setContents('zz')
  expect(await readStatus(append())).toBe('INVALID_SIGNATURE')
  expect(await readStatus(await append().freezeWith(client).sign(key))).toBe('SUCCESS')
  const use = () => new ContractCreateTransaction().setBytecodeFileId(fileId).setGas(GAS)
  expect(await readStatus(use())).toBe('ERROR_DECODING_BYTESTRING')
  expect(
    await readStatus(
      await new FileDeleteTransaction().setFileId(fileId).freezeWith(client).sign(key),
    ),
  ).toBe('SUCCESS')
  expect(await readStatus(use())).toBe('FILE_DELETED')
})

test('L8: an atomic batch is refused in words, and nothing of it happens', async () => {
  const key = PrivateKey.generateED25519()
  const payee = accountNamed(devnet, 'operator').accountId
  const before = await tinybar(payee)
  const inner = await new TransferTransaction()
    .addHbarTransfer(payer.accountId, new Hbar(-1))
    .addHbarTransfer(payee, new Hbar(1))
    .batchify(client, key)
  const batch = await new BatchTransaction().addInnerTransaction(inner).freezeWith(client).sign(key)
  expect(await readStatus(batch)).toBe('NOT_SUPPORTED')
  expect(await tinybar(payee)).toBe(before)
})
