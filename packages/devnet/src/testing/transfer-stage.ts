import {
  type Client,
  Hbar,
  type StatusError,
  type Transaction,
  type TransactionId,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import type { Devnet, DevnetAccount, DevnetOptions } from '../devnet.ts'
import { startDevnet } from '../start-devnet.ts'
import { accountNamed, mirror, sdkClient } from './test-clients.ts'

/** A ledger with somebody who pays by the SDK and somebody who is paid. */
export type TransferStage = {
  devnet: Devnet
  payer: DevnetAccount
  payee: DevnetAccount
  /** Its operator is `payer`. */
  client: Client
  /** A transfer of 1 HBAR from `payer` to `payee` unless stated otherwise. */
  transfer: (options?: { from?: DevnetAccount; to?: string; hbar?: number }) => TransferTransaction
  /** Balance of an account, tinybar. */
  tinybar: (account: string) => Promise<number>
  /** Sends a transaction by `client` and returns the name of the response code with which it ends. */
  statusOf: (transaction: Transaction) => Promise<string>
  stop: () => Promise<void>
}

/** Starts the ledger with its two parties. */
export async function startTransferStage(options: DevnetOptions = {}): Promise<TransferStage> {
  const devnet = await startDevnet(options)
  const payer = accountNamed(devnet, 'agent-1')
  const payee = accountNamed(devnet, 'operator')
  const client = sdkClient(devnet, payer)
  return {
    devnet,
    payer,
    payee,
    client,
    transfer({ from = payer, to = payee.accountId, hbar = 1 } = {}) {
      return new TransferTransaction()
        .addHbarTransfer(from.accountId, new Hbar(-hbar))
        .addHbarTransfer(to, new Hbar(hbar))
    },
    async tinybar(account) {
      const { body } = await mirror(devnet, `/api/v1/accounts/${account}`)
      return (body['balance'] as { balance: number }).balance
    },
    async statusOf(transaction) {
      try {
        const response = await transaction.execute(client)
        return (await response.getReceipt(client)).status.toString()
      } catch (cause) {
        return (cause as StatusError).status.toString()
      }
    },
    async stop() {
      client.close()
      await devnet.stop()
    },
  }
}

/** The mirror node's form of an SDK transaction id. */
export function toMirrorId(id: TransactionId): string {
  const { accountId, validStart } = id
  return `${String(accountId)}-${String(validStart?.seconds)}-${String(validStart?.nanos).padStart(9, '0')}`
}
