import {
  ContractByteCodeQuery,
  ContractCallQuery,
  ContractInfoQuery,
  FileContentsQuery,
  FileCreateTransaction,
  FileDeleteTransaction,
  FileInfoQuery,
  type StatusError,
} from '@hiero-ledger/sdk'
import { hexToBytes } from 'viem'
import { afterAll, expect, test } from 'vitest'
import { mirror, viemClient } from '../testing/test-clients.fixture.ts'
import { REVERTING_CONTRACT } from '../testing/tiny-contracts.fixture.ts'
import { startTransferFixture } from '../testing/transfer.fixture.ts'

const { client, devnet, payer, stop } = await startTransferFixture()
afterAll(stop)

/** Returns its calldata. */
const ECHOING_CONTRACT = '0x60078060093d393df3365f5f37365ff3'

async function deploy(bytecode: `0x${string}`): Promise<string> {
  const sender = viemClient(devnet, payer)
  const gasPrice = await sender.getGasPrice()
  const hash = await sender.deployContract({ abi: [], bytecode, gasPrice })
  const { body } = await mirror(devnet, `/api/v1/contracts/results/${hash}`)
  return String(body['contract_id'])
}

const statusOfQuery = (query: { execute(by: typeof client): Promise<unknown> }) =>
  query.execute(client).then(
    () => 'OK',
    (cause: unknown) => (cause as StatusError).status.toString(),
  )

const call = (id: string) =>
  new ContractCallQuery()
    .setContractId(id)
    .setGas(100_000)
    .setFunctionParameters(hexToBytes('0xabcd'))

test('L8: a local call returns what the contract does, changes nothing, and reverts by its code', async () => {
  const result = await call(await deploy(ECHOING_CONTRACT)).execute(client)
  expect(Buffer.from(result.bytes).toString('hex')).toBe('abcd')
  const reverting = await deploy(REVERTING_CONTRACT)
  expect(await statusOfQuery(call(reverting))).toBe('CONTRACT_REVERT_EXECUTED')
  expect(await statusOfQuery(call('0.0.999999'))).toBe('INVALID_CONTRACT_ID')
})

test('L8: a contract’s code and what is known of it', async () => {
  const id = await deploy(ECHOING_CONTRACT)
  const code = await new ContractByteCodeQuery().setContractId(id).execute(client)
  expect(`0x${Buffer.from(code).toString('hex')}`).toBe('0x365f5f37365ff3')
  const info = await new ContractInfoQuery().setContractId(id).execute(client)
  expect(`0.0.${info.contractId.num.toString()}`).toBe(id)
  const unknown = new ContractInfoQuery().setContractId('0.0.999999')
  expect(await statusOfQuery(unknown)).toBe('INVALID_CONTRACT_ID')
})

test('L8: a file’s contents, size, keys and memo, and that it is deleted', async () => {
  const key = client.operatorPublicKey
  const creation = new FileCreateTransaction()
    .setKeys(key === null ? [] : [key])
    .setContents('words')
    .setFileMemo('mine')
  const { fileId } = await (await creation.execute(client)).getReceipt(client)
  const id = String(fileId)
  const contents = await new FileContentsQuery().setFileId(id).execute(client)
  expect(Buffer.from(contents).toString()).toBe('words')
  const info = await new FileInfoQuery().setFileId(id).execute(client)
  expect([Number(info.size), info.fileMemo, info.isDeleted]).toEqual([5, 'mine', false])
  await (await new FileDeleteTransaction().setFileId(id).execute(client)).getReceipt(client)
  expect((await new FileInfoQuery().setFileId(id).execute(client)).isDeleted).toBe(true)
  expect(await statusOfQuery(new FileContentsQuery().setFileId(id))).toBe('FILE_DELETED')
})
