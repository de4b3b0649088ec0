import type { Devnet } from '@tallystick/devnet'
import { devnetAccount } from './devnet-account.ts'
import type { ServiceRecipe } from './service-process.ts'

/** How the facilitator is started: with a fee payer of its own, on the local ledger's only node. */
export function facilitatorRecipe(devnet: Devnet, port: number): ServiceRecipe {
  const feePayer = devnetAccount(devnet, 'facilitator')
  return {
    name: 'facilitator',
    main: 'packages/facilitator/src/main.ts',
    readyUrl: `http://127.0.0.1:${port}/ready`,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(port),
      NETWORK: 'hedera:testnet',
      CONSENSUS_NODES: `${devnet.consensus.address}=${devnet.consensus.nodeAccountId}`,
      MIRROR_URL: devnet.mirrorUrl,
      FEE_PAYER: feePayer.accountId,
      FEE_PAYER_KEY: feePayer.privateKey,
    },
  }
}
