import type { Devnet, XLayer } from '@tallystick/devnet'
import type { CarePlace } from './care-recipe.ts'
import { devnetAccount } from './devnet-account.ts'
import type { GradingPlace } from './grading-recipe.ts'
import type { StackPorts } from './ports.ts'
import type { ServiceProcess } from './service-process.ts'
import type { StackDescription } from './stack-file.ts'

/** Enough for several people or tests at once, each with an agent of its own. */
const AGENTS = 8

/** What runs once a stack is up. */
export type StartedStack = {
  readonly devnet: Devnet
  readonly xlayer: XLayer
  readonly ports: StackPorts
  readonly contract: string
  readonly care: CarePlace
  readonly grading: GradingPlace
  readonly services: readonly ServiceProcess[]
}

/** Describes a stack that is up, for `.local/stack.json` and for a person. */
export function stackDescription(stack: StartedStack): StackDescription {
  const { devnet, xlayer, ports, contract, care, grading, services } = stack
  const operator = devnetAccount(devnet, 'operator')
  return {
    access: {
      baseUrl: `http://127.0.0.1:${ports.access}`,
      contract,
      payTo: operator.accountId,
    },
    care,
    grading,
    ledger: {
      rpcUrl: devnet.rpcUrl,
      mirrorUrl: devnet.mirrorUrl,
      consensus: devnet.consensus.address,
      chainId: devnet.chainId,
    },
    xlayer: {
      rpcUrl: xlayer.rpcUrl,
      chainId: xlayer.chainId,
      stablecoin: xlayer.stablecoin.address,
      payTo: operator.evmAddress,
    },
    facilitator: { url: `http://127.0.0.1:${ports.facilitator}` },
    agents: devnet.accounts
      .filter(({ name }) => name.startsWith('agent'))
      .slice(0, AGENTS)
      .map(({ name, accountId, evmAddress, privateKey }) => ({
        name,
        accountId,
        evmAddress,
        privateKey,
      })),
    process: {
      pid: process.pid,
      children: Object.fromEntries(services.map(({ name, pid }) => [name, pid])),
    },
  }
}
