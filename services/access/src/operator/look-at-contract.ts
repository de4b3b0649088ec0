import type { Address, PublicClient } from 'viem'
import { contractOf, type OperatorConfig } from './operator-config.ts'
import { LedgerUnavailable, readLedger, reasonOf } from './operator-ledger.ts'
import { OperatorRefusal } from './operator-verb.ts'

/** The access contract and a client that reads it; nobody's key. */
export type ContractView = { readonly reader: PublicClient; readonly address: Address }

async function asAnswered<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (cause) {
    if (cause instanceof OperatorRefusal) throw cause
    throw new LedgerUnavailable(`The ledger does not answer: ${reasonOf(cause)}`, { cause })
  }
}

/** Returns once there is code at the address. Throws OperatorRefusal, or LedgerUnavailable. */
export async function ensureContract({ reader, address }: ContractView): Promise<void> {
  const code = await asAnswered(() => reader.getCode({ address }))
  if (code === undefined) throw new OperatorRefusal(`There is no contract at ${address}.`)
}

/** What a look at the contract finds. Throws OperatorRefusal where there is none, LedgerUnavailable where a read fails. */
export async function lookAtContract<Result>(
  config: OperatorConfig,
  look: (view: ContractView) => Promise<Result>,
): Promise<Result> {
  const { LEDGER_RPC_URL: rpcUrl, LEDGER_CHAIN_ID: chainId } = config
  const view = { reader: readLedger({ rpcUrl, chainId }), address: contractOf(config) }
  await ensureContract(view)
  return await asAnswered(() => look(view))
}
