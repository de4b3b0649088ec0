import type { Clock } from '@tallystick/service-kit'
import { type StatusBody, statusBody } from './access-answers.ts'
import { type AccessContract, ContractAbsent } from './access-contract.ts'
import type { Hex } from './access-window.ts'
import { ledgerSeconds } from './ledger-time.ts'

/**
 * What `/status` answers: two reads side by side, of which the window, with its usage, must answer and the reserve may
 * not (A12). Writes nothing, and asks nothing but the contract. Throws ChainUnavailable or ContractAbsent.
 */
export async function readStatus(
  deps: { readonly contract: AccessContract; readonly clock: Clock },
  agent: Hex,
): Promise<StatusBody> {
  const { contract, clock } = deps
  const address = contract.address
  if (address === undefined) throw new ContractAbsent('no contract address is configured')
  await contract.ensureDeployed()
  const nowSeconds = ledgerSeconds(clock)
  const [window, reserve] = await Promise.all([
    contract.windowOf(agent, nowSeconds),
    contract.renewalsReserveCanArm().catch(() => undefined),
  ])
  return statusBody({
    agent,
    contract: address,
    window,
    renewalsReserveCanArm: reserve,
    nowSeconds,
  })
}
