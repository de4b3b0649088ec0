import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  AccountCreateTransaction,
  AccountId,
  Hbar,
  PrivateKey,
  ScheduleCreateTransaction,
  ScheduleSignTransaction,
  TokenCreateTransaction,
  TokenFreezeTransaction,
  TopicCreateTransaction,
  TopicMessageSubmitTransaction,
  type Transaction,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import { scheduleServiceAbi } from '@tallystick/contracts'
import { manualClock } from '@tallystick/service-kit'
import { encodeFunctionData, type Hex, parseEther } from 'viem'
import { afterAll, describe, expect, test } from 'vitest'
import { keepInFile } from './snapshots.ts'
import { type Devnet, startDevnet } from './start-devnet.ts'
import { accountNamed, mirror, rpc, viemClient } from './testing/test-clients.fixture.ts'
import { LOGGING_CONTRACT, SCHEDULING_CONTRACT } from './testing/tiny-contracts.fixture.ts'
import { sdkClient } from './testing/transfer.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'devnet-state-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Leaves a bit of everything: a contract with a log, an account of the SDK, a token that it holds and that is frozen for it. */
async function use(devnet: Devnet) {
  const client = viemClient(devnet, accountNamed(devnet, 'agent-1'))
  const gasPrice = await client.getGasPrice()
  const deployed = await client.deployContract({ abi: [], bytecode: LOGGING_CONTRACT, gasPrice })
  const { contractAddress } = await client.getTransactionReceipt({ hash: deployed })
  const logged = await client.sendTransaction({ to: contractAddress, data: '0xabcd', gasPrice })
  const sdk = sdkClient(devnet, accountNamed(devnet, 'agent-2'))
  const key = PrivateKey.generateECDSA()
  const creation = new AccountCreateTransaction()
    .setKeyWithoutAlias(key)
    .setInitialBalance(new Hbar(3))
    .setMaxAutomaticTokenAssociations(-1)
  const execute = async (transaction: Transaction) =>
    (await transaction.execute(sdk)).getReceipt(sdk)
  const account = String((await execute(creation)).accountId)
  const create = new TokenCreateTransaction()
    .setTokenName('Dollar')
    .setTokenSymbol('USD')
    .setInitialSupply(100)
    .setFreezeKey(sdk.operatorPublicKey ?? key)
    .setTreasuryAccountId(sdk.operatorAccountId ?? '')
    .setMaxTransactionFee(new Hbar(60))
  const token = String((await execute(create)).tokenId)
  await execute(pay(token, account))
  await execute(new TokenFreezeTransaction().setTokenId(token).setAccountId(account))
  sdk.close()
  return { contract: contractAddress as Hex, logged, account, token }
}

/** A transfer of ten of a token from the second agent, its treasury. */
const pay = (token: string, account: string | AccountId) =>
  new TransferTransaction()
    .addTokenTransfer(token, '0.0.1007', -10)
    .addTokenTransfer(token, account, 10)

/** A contract that calls itself in so many seconds. */
async function scheduleIn(devnet: Devnet, seconds: number): Promise<Hex> {
  const client = viemClient(devnet, accountNamed(devnet, 'owner'))
  const gasPrice = await client.getGasPrice()
  const hash = await client.deployContract({ abi: [], bytecode: SCHEDULING_CONTRACT, gasPrice })
  const { contractAddress } = await client.getTransactionReceipt({ hash })
  const to = contractAddress as Hex
  await client.sendTransaction({ to, value: parseEther('100'), gasPrice })
  const second = BigInt(devnet.nowSeconds() + seconds)
  const data = encodeFunctionData({
    abi: scheduleServiceAbi,
    functionName: 'scheduleCall',
    args: [to, second, 1_800_000n, 0n, '0x'],
  })
  await client.sendTransaction({ to, data, gas: 3_000_000n, gasPrice })
  return to
}

/** What outsiders read of it. */
async function look(
  devnet: Devnet,
  { contract, logged, account, token }: Awaited<ReturnType<typeof use>>,
) {
  const receipt = await rpc(devnet, 'eth_getTransactionReceipt', [logged])
  const { blockHash } = (receipt.result ?? {}) as { blockHash?: Hex }
  const block = await rpc(devnet, 'eth_getBlockByHash', [blockHash ?? `0x${'1'.repeat(64)}`, false])
  const entity = await mirror(devnet, `/api/v1/accounts/${account}`)
  const { alias, created_timestamp, key, memo } = entity.body
  return {
    receipt: receipt.result,
    block: block.result,
    code: (await rpc(devnet, 'eth_getCode', [contract, 'latest'])).result,
    account: { alias, created_timestamp, key, memo },
    token: (await mirror(devnet, `/api/v1/tokens/${token}`)).body,
    tokens: (await mirror(devnet, `/api/v1/accounts/${account}/tokens`)).body['tokens'],
    balances: (await mirror(devnet, `/api/v1/balances?account.id=${account}`)).body['balances'],
    transactions: (await mirror(devnet, '/api/v1/transactions?limit=5')).body['transactions'],
    logs: (await mirror(devnet, `/api/v1/contracts/${contract}/results/logs`)).body['logs'],
  }
}

describe('L22: a ledger that is kept', () => {
  test('L22: a restart with the same file goes on: accounts, code, blocks, records, nonces, schedules', async () => {
    const stateFile = join(folder, 'kept')
    const before = await startDevnet({ stateFile })
    const made = await use(before)
    const schedule = await scheduleIn(before, 7_200)
    await before.controls.advanceSeconds(3_600)
    await before.createAccount({ name: 'mine', balanceTinybar: 7n })
    const seen = await look(before, made)
    const nowSeconds = before.nowSeconds()
    await before.stop()
    const after = await startDevnet({ stateFile })
    try {
      expect(await look(after, made)).toEqual(seen)
      expect(accountNamed(after, 'mine').privateKey).toBe(accountNamed(before, 'mine').privateKey)
      expect(after.nowSeconds()).toBeGreaterThanOrEqual(nowSeconds)
      await after.controls.advanceSeconds(3_600)
      expect(after.executions()).toMatchObject([{ payer: schedule.toLowerCase(), status: 22 }])
      const client = viemClient(after, accountNamed(after, 'agent-1'))
      const gasPrice = await client.getGasPrice()
      const sdk = sdkClient(after, accountNamed(after, 'agent-2'))
      const paid = await pay(made.token, made.account).execute(sdk)
      await expect(paid.getReceipt(sdk)).rejects.toThrow('ACCOUNT_FROZEN_FOR_TOKEN')
      await (
        await pay(made.token, AccountId.fromEvmAddress(0, 0, '12'.repeat(20))).execute(sdk)
      ).getReceipt(sdk)
      sdk.close()
      const hash = await client.sendTransaction({ to: made.contract, data: '0x01', gasPrice })
      const { status, blockNumber } = await client.getTransactionReceipt({ hash })
      expect(status).toBe('success')
      expect(blockNumber).toBeGreaterThan(
        BigInt((seen.receipt as { blockNumber: Hex }).blockNumber),
      )
    } finally {
      await after.stop()
    }
  })

  test('L22: what could not be written is written at the end, though nothing has changed since', async () => {
    const place = join(folder, 'made-later')
    const clock = manualClock(0)
    let block = 1
    const file = join(place, 'state')
    const snapshots = { take: async () => Buffer.from(`block ${block}`), restore: async () => {} }
    const ledger = { evm: { newestBlock: () => block } }
    const keeping = await keepInFile(file, { snapshots, ledger, timers: clock })
    block = 2
    await clock.advanceMsSettled(10_000)
    mkdirSync(place)
    await keeping.end()
    expect(readFileSync(file, 'utf8')).toBe('block 2')
  })

  test('L22: a file that is no state is refused by its name, and stays as it was', async () => {
    const stateFile = join(folder, 'other')
    writeFileSync(stateFile, 'not a ledger')
    await expect(startDevnet({ stateFile })).rejects.toThrow(`${stateFile}: this is no state`)
    expect(existsSync(`${stateFile}.new`)).toBe(false)
  })
})

describe('L22: snapshot, revert, reset', () => {
  test('L22: revert undoes what came since, as often as asked, and later snapshots are gone', async () => {
    const devnet = await startDevnet()
    try {
      const made = await use(devnet)
      const snapshot = await devnet.controls.snapshot()
      const seen = await look(devnet, made)
      for (const round of ['first', 'second']) {
        const more = await use(devnet)
        const later = await devnet.controls.snapshot()
        expect((await rpc(devnet, 'devnet_revert', [snapshot])).result).toBeNull()
        expect(await look(devnet, made), round).toEqual(seen)
        expect((await look(devnet, more)).receipt).toBeNull()
        await expect(devnet.controls.revert(later)).rejects.toThrow('there is no snapshot')
      }
      await devnet.controls.reset()
      expect((await look(devnet, made)).code).toBe('0x')
      await expect(devnet.controls.revert(snapshot)).rejects.toThrow('there is no snapshot')
      const again = await use(devnet)
      expect(again.account).toBe(made.account)
    } finally {
      await devnet.stop()
    }
  })

  test('L22: what waits, and a message in parts, are after a revert what they were', async () => {
    const devnet = await startDevnet()
    const sdk = sdkClient(devnet, accountNamed(devnet, 'agent-2'))
    try {
      const key = PrivateKey.generateED25519()
      const topic = new TopicCreateTransaction().setSubmitKey(key.publicKey)
      const { topicId } = await (await topic.execute(sdk)).getReceipt(sdk)
      const message = (text: string) =>
        new TopicMessageSubmitTransaction().setTopicId(topicId ?? '').setMessage(text)
      const parts = await message('x'.repeat(1_500)).freezeWith(sdk).sign(key)
      for (const part of await parts.executeAll(sdk)) await part.getReceipt(sdk)
      const schedule = new ScheduleCreateTransaction().setScheduledTransaction(message('late'))
      const { scheduleId } = await (await schedule.execute(sdk)).getReceipt(sdk)
      const messages = async () =>
        (await mirror(devnet, `/api/v1/topics/${String(topicId)}/messages`)).body['messages']
      const before = await messages()
      await devnet.controls.revert(await devnet.controls.snapshot())
      expect(await messages()).toEqual(before)
      const sign = new ScheduleSignTransaction().setScheduleId(scheduleId ?? '')
      await (await (await sign.freezeWith(sdk).sign(key)).execute(sdk)).getReceipt(sdk)
      expect(await messages()).toMatchObject([{}, {}, { message: btoa('late') }])
    } finally {
      sdk.close()
      await devnet.stop()
    }
  })
})
