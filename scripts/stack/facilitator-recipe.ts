import type { Devnet, XLayer } from '@tallystick/devnet'
import { devnetAccount } from './devnet-account.ts'
import type { ServiceRecipe } from './service-process.ts'

/** How the facilitator is started: with a fee payer of its own on the local ledger's only node, and on X Layer. */
export function facilitatorRecipe(
  { devnet, xlayer }: { readonly devnet: Devnet; readonly xlayer: XLayer },
  port: number,
): ServiceRecipe {
  const feePayer = devnetAccount(devnet, 'facilitator')
  const token = xlayer.stablecoin
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
      EVM_RPC_URL: xlayer.rpcUrl,
      EVM_CHAIN_ID: String(xlayer.chainId),
      EVM_KEY: feePayer.privateKey,
      EVM_ASSETS: `${token.address}/${token.name}/${token.version}/${token.decimals}`,
    },
  }
}
