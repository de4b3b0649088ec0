import { Hbar, Status, TransferTransaction } from '@hiero-ledger/sdk'
import { parseEther } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from './start-devnet.ts'
import { accountNamed, mirror, rpc, viemClient } from './testing/test-clients.fixture.ts'
import { sdkClient } from './testing/transfer.fixture.ts'

let devnet: Devnet
beforeAll(async () => {
  devnet = await startDevnet()
})
afterAll(async () => {
  await devnet.stop()
})

describe('L16: many at once', () => {
  test('100 EVM transactions of ten senders: every one lands, every hash has its receipt', async () => {
    const receiver = '0x00000000000000000000000000000000000003ea'
    const senders = devnet.accounts.filter(({ name }) => name.startsWith('agent-'))
    const clients = senders.map((account) => viemClient(devnet, account))
    const gasPrice = (await clients[0]?.getGasPrice()) ?? 0n
    const before = (await clients[0]?.getBalance({ address: receiver })) ?? 0n
    // Each sender's ten go out in order, all senders at the same time.
    const hashes = await Promise.all(
      clients.map(async (client) => {
        const sent: string[] = []
        for (let nonce = 0; nonce < 10; nonce += 1) {
          const call = {
            to: receiver,
            value: parseEther('1'),
            gas: 21_000n,
            gasPrice,
            nonce,
          } as const
          sent.push(await client.sendTransaction(call))
        }
        return sent
      }),
    )
    expect(new Set(hashes.flat()).size).toBe(100)
    for (const hash of hashes.flat()) {
      const { result } = await rpc(devnet, 'eth_getTransactionReceipt', [hash])
      expect(result).toMatchObject({ status: '0x1', transactionHash: hash })
    }
    expect(await clients[0]?.getBalance({ address: receiver })).toBe(before + parseEther('100'))
  })

  test('100 native transfers: every one lands, each at its own consensus timestamp', async () => {
    const payer = accountNamed(devnet, 'treasury')
    const client = sdkClient(devnet, payer)
    const statuses = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const response = await new TransferTransaction()
          .addHbarTransfer(payer.accountId, new Hbar(-1))
          .addHbarTransfer('0.0.1003', new Hbar(1))
          .execute(client)
        return (await response.getReceipt(client)).status
      }),
    )
    client.close()
    expect(statuses.every((status) => status === Status.Success)).toBe(true)
    const path =
      '/api/v1/transactions?account.id=0.0.1003&type=credit&transactiontype=CRYPTOTRANSFER&limit=100'
    const { body } = await mirror(devnet, path)
    const transactions = body['transactions'] as { consensus_timestamp: string }[]
    expect(new Set(transactions.map((row) => row.consensus_timestamp)).size).toBe(100)
    expect((await mirror(devnet, '/api/v1/accounts/0.0.1003')).body['balance']).toMatchObject({
      balance: (1_000_000 + 100) * 1e8,
    })
  })

  test('no tinybar is lost: balances add up to the supply, and every record to zero', async () => {
    const { body } = await mirror(devnet, '/api/v1/transactions?limit=100')
    const transactions = body['transactions'] as { transfers: { amount: number }[] }[]
    for (const { transfers } of transactions) {
      expect(transfers.reduce((sum, { amount }) => sum + amount, 0)).toBe(0)
    }
    const viem = viemClient(devnet, accountNamed(devnet, 'treasury'))
    const numbers = [2, 3, 4, 98, 902, ...Array.from({ length: 16 }, (_, index) => 1001 + index)]
    const balances = await Promise.all(
      numbers.map((number) =>
        viem.getBalance({ address: `0x${number.toString(16).padStart(40, '0')}` }),
      ),
    )
    expect(balances.reduce((sum, balance) => sum + balance, 0n)).toBe(parseEther('50000000000'))
  })
})
