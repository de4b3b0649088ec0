import {
  Client,
  Hbar,
  PrivateKey,
  type StatusError,
  type Transaction,
  type TransactionId,
  TransferTransaction,
} from '@hiero-ledger/sdk'
import type { DevnetAccount } from '../ledger/genesis.ts'
import { type Devnet, type DevnetOptions, startDevnet } from '../start-devnet.ts'
import { accountNamed, mirror } from './test-clients.fixture.ts'

/** A ledger with a party who pays through the SDK and a party who is paid. */
type TransferFixture = {
  devnet: Devnet
  payer: DevnetAccount
  payee: DevnetAccount
  /** Its operator is `payer`. */
  client: Client
  /** A transfer of 1 HBAR from `payer` to `payee` by default. */
  transfer: (options?: { from?: DevnetAccount; to?: string; hbar?: number }) => TransferTransaction
  /** Balance of an account, tinybar. */
  tinybar: (account: string) => Promise<number>
  /** Sends a transaction, through `client` by default, and returns the name of the response code with which it ends. */
  readStatus: (transaction: Transaction, through?: Client) => Promise<string>
  stop: () => Promise<void>
}

/** Starts the ledger with its two parties. */
export async function startTransferFixture(options: DevnetOptions = {}): Promise<TransferFixture> {
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
    async readStatus(transaction, through = client) {
      try {
        const response = await transaction.execute(through)
        return (await response.getReceipt(through)).status.toString()
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

/** An SDK client whose operator is `account`. Its limits suit a machine that runs several suites at once. */
export function sdkClient(devnet: Devnet, account: DevnetAccount): Client {
  const { address, nodeAccountId } = devnet.consensus
  return Client.forNetwork({ [address]: nodeAccountId }, { scheduleNetworkUpdate: false })
    .setOperator(account.accountId, sdkKey(account))
    .setGrpcDeadline(8_000)
    .setRequestTimeout(20_000)
    .setMaxAttempts(3)
}

/** The account's private key in the SDK's form. */
export function sdkKey({ keyType, privateKey }: DevnetAccount): PrivateKey {
  return keyType === 'ED25519'
    ? PrivateKey.fromStringED25519(privateKey.slice(2))
    : PrivateKey.fromStringECDSA(privateKey.slice(2))
}
