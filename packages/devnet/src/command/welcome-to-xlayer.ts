import type { XLayer } from '../xlayer/xlayer.ts'

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
