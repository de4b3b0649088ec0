import type { Devnet } from '../devnet.ts'
import { CURRENCY_NOTE, toHbarText } from './hbar-text.ts'

/** What a person sees when the ledger is up: where it listens, who has money, and two scripts to begin with. */
export async function welcome(devnet: Devnet, balanceTinybar: BalanceReader): Promise<string> {
  const head = { id: 'id', name: 'name', balance: 'HBAR', kind: 'key' }
  const lines = [row({ ...head, evmAddress: 'EVM address', privateKey: 'private key' })]
  for (const account of devnet.accounts) {
    const balance = toHbarText(await balanceTinybar(account.accountId))
    const kind = account.keyType === 'ED25519' ? 'ED25519' : 'ECDSA'
    lines.push(row({ ...account, id: account.accountId, balance, kind }))
  }
  return `
Local Hedera is up. Ctrl-C ends it; nothing is kept.

  JSON-RPC        ${devnet.rpcUrl}  (chain id ${devnet.chainId})
  Mirror REST     ${devnet.mirrorUrl}/api/v1
  Consensus gRPC  ${devnet.consensus.address}  (node ${devnet.consensus.nodeAccountId}, no TLS)

Accounts. These keys are public and the same on every machine: worthless outside, never fund them on a real network.
${lines.join('\n')}
${CURRENCY_NOTE}

A first viem script:
${indent(viemScript(devnet))}

A first SDK script:
${indent(sdkScript(devnet))}
`
}

function row(cells: {
  id: string
  name: string
  balance: string
  kind: string
  evmAddress: string
  privateKey: string
}): string {
  const { id, name, balance, kind, evmAddress, privateKey } = cells
  const left = `  ${id.padEnd(9)} ${name.padEnd(11)} ${balance.padStart(10)}  ${kind.padEnd(8)}`
  return `${left} ${evmAddress.padEnd(42)}  ${privateKey}`
}

/** Reads an account's balance in tinybar. */
export type BalanceReader = (accountId: string) => Promise<bigint>

function viemScript({ rpcUrl, accounts }: Devnet): string {
  const [from, to] = pair(accounts)
  return `import { createWalletClient, http, parseEther, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { hederaTestnet } from 'viem/chains'

const account = privateKeyToAccount('${from.privateKey}')
const client = createWalletClient({ account, chain: hederaTestnet, transport: http('${rpcUrl}') }).extend(publicActions)
const hash = await client.sendTransaction({ to: '${to.evmAddress}', value: parseEther('1'), gasPrice: await client.getGasPrice() })
console.log(await client.waitForTransactionReceipt({ hash }))`
}

function sdkScript({ consensus, accounts }: Devnet): string {
  const [from, to] = pair(accounts)
  return `import { Client, Hbar, PrivateKey, TransferTransaction } from '@hiero-ledger/sdk'

const client = Client.forNetwork({ '${consensus.address}': '${consensus.nodeAccountId}' }, { scheduleNetworkUpdate: false })
client.setOperator('${from.accountId}', PrivateKey.fromStringECDSA('${from.privateKey}'))
const transfer = new TransferTransaction().addHbarTransfer('${from.accountId}', new Hbar(-1)).addHbarTransfer('${to.accountId}', new Hbar(1))
const response = await transfer.execute(client)
console.log((await response.getReceipt(client)).status.toString())
client.close()`
}

function pair(
  accounts: Devnet['accounts'],
): [Devnet['accounts'][number], Devnet['accounts'][number]] {
  const [first, second] = accounts.filter(({ name }) => name.startsWith('agent-'))
  if (first === undefined || second === undefined) throw new Error('the genesis has agents')
  return [first, second]
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : `  ${line}`))
    .join('\n')
}
