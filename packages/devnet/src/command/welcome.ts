import { TINYBAR_PER_HBAR } from '@tallystick/x402/hedera'
import type { Devnet } from '../start-devnet.ts'
import type { XLayer } from '../xlayer/start-xlayer.ts'
import type { ControlCall } from './read-arguments.ts'

/** The two units are easy to confuse. */
const CURRENCY_NOTE =
  '  1 HBAR = 10^8 tinybar (consensus, mirror, inside contracts) = 10^18 weibar (JSON-RPC).'

/** What a person sees once the ledger is up: where it listens, and which accounts have money. */
export async function welcome(devnet: Devnet): Promise<string> {
  const head = { id: 'id', name: 'name', balance: 'HBAR', kind: 'key' }
  const lines = [row({ ...head, evmAddress: 'EVM address', privateKey: 'private key' })]
  for (const account of devnet.accounts) {
    // Whole HBAR: nobody has paid a fee yet.
    const shown = await fetch(`${devnet.mirrorUrl}/api/v1/accounts/${account.accountId}`)
    const { balance: shownBalance } = (await shown.json()) as { balance: { balance: number } }
    const balance = (BigInt(shownBalance.balance) / TINYBAR_PER_HBAR).toLocaleString('en-US')
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

First successes with viem, ethers, the Hiero SDK, Hardhat and Foundry, to copy: README of @tallystick/devnet.
`
}

/** What a person sees once controls are set: which, and how the network becomes prompt again. */
export function controlled(controls: readonly ControlCall[]): string {
  const rows = controls.map(({ name, parameters }) =>
    name === 'likeTestnet'
      ? '  Like testnet: sends take 3 to 8 s, reads lag 4 s, one answer in a hundred is lost; 429 past the public limits.'
      : `  ${name} ${JSON.stringify(parameters)}`,
  )
  return `\n${rows.join('\n')}\n  devnet_answerPromptly over JSON-RPC ends it.\n`
}

type Cells = Record<'id' | 'name' | 'balance' | 'kind' | 'evmAddress' | 'privateKey', string>

function row({ id, name, balance, kind, evmAddress, privateKey }: Cells): string {
  const left = `  ${id.padEnd(9)} ${name.padEnd(11)} ${balance.padStart(10)}  ${kind.padEnd(8)}`
  return `${left} ${evmAddress.padEnd(42)}  ${privateKey}`
}

/** What a person sees of the X Layer stand-in: where it is, its token, and what a facilitator needs to settle there. */
export function welcomeToXLayer({ accounts, chainId, rpcUrl, stablecoin }: XLayer): string {
  const { address, decimals, name, version } = stablecoin
  const facilitator = accounts.find((account) => account.name === 'facilitator')
  const rows = accounts.map(
    (account) => `  ${account.name.padEnd(11)} ${account.address}  ${account.privateKey}`,
  )
  return `
Local X Layer is up.

  JSON-RPC        ${rpcUrl}  (chain id ${chainId})
  Token           ${address}  (${name}, version ${version}, ${decimals} decimals, EIP-3009)

Accounts, with the keys of the local Hedera. Agents hold ${name} 10,000 and no gas; the facilitator holds gas.
${rows.join('\n')}

For a facilitator of both networks:
  EVM_RPC_URL=${rpcUrl} EVM_KEY=${facilitator?.privateKey ?? ''} \\
  EVM_ASSETS='${address}/${name}/${version}/${decimals}'
`
}
