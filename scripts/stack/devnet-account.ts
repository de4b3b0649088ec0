import type { Devnet, DevnetAccount } from '@tallystick/devnet'

/** The account of that name. Throws where the local ledger has none. */
export function devnetAccount(devnet: Devnet, name: string): DevnetAccount {
  const found = devnet.accounts.find((candidate) => candidate.name === name)
  if (found === undefined) throw new Error(`the local ledger has no account named ${name}`)
  return found
}
