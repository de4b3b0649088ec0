import type { Devnet } from '@tallystick/devnet'
import { devnetAccount } from './devnet-account.ts'
import type { StackPorts } from './ports.ts'
import type { ServiceRecipe } from './service-process.ts'

/** How access is started: on a deployed contract, with the operator's and the recorder's keys. */
export function accessRecipe(
  devnet: Devnet,
  { ports, contract }: { readonly ports: StackPorts; readonly contract: string },
): ServiceRecipe {
  const payTo = devnetAccount(devnet, 'operator')
  return {
    name: 'access',
    main: 'services/access/src/main.ts',
    readyUrl: `http://127.0.0.1:${ports.access}/ready`,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(ports.access),
      BASE_URL: `http://127.0.0.1:${ports.access}`,
      NETWORK: 'hedera:testnet',
      LEDGER_RPC_URL: devnet.rpcUrl,
      LEDGER_CHAIN_ID: String(devnet.chainId),
      MIRROR_URL: devnet.mirrorUrl,
      FACILITATOR_URL: `http://127.0.0.1:${ports.facilitator}`,
      ACCESS_CONTRACT: contract,
      PAY_TO: payTo.accountId,
      PAY_TO_KEY: payTo.privateKey,
      RECORDER_KEY: devnetAccount(devnet, 'recorder').privateKey,
    },
  }
}
