#!/usr/bin/env node
/** The facilitator's command: turns an environment into a listening server. */
import { runService } from '@tallystick/service-kit'
import { facilitatorConfig, parseEvmAssets } from './config.ts'
import { WrongToken } from './evm/evm-facilitator.ts'
import { createFacilitator } from './service.ts'

await runService({
  name: 'facilitator',
  schema: facilitatorConfig,
  environment: process.env,
  create: ({ clock, config, logger }) =>
    createFacilitator({
      network: config.NETWORK,
      consensusNodes: config.CONSENSUS_NODES ?? [],
      mirrorUrl: config.MIRROR_URL,
      feePayer: config.FEE_PAYER,
      feePayerKey: config.FEE_PAYER_KEY.reveal(),
      servedPayTo: config.SERVED_PAY_TO,
      evm:
        config.EVM_RPC_URL === undefined || config.EVM_KEY === undefined
          ? undefined
          : {
              rpcUrl: config.EVM_RPC_URL,
              chainId: config.EVM_CHAIN_ID,
              privateKey: config.EVM_KEY.reveal(),
              contractWallets: config.CONTRACT_WALLETS,
              assets: parseEvmAssets(config.EVM_ASSETS, config.EVM_CHAIN_ID) ?? [],
            },
      clock,
      logger,
      metricsToken: config.METRICS_TOKEN,
    }),
  startRefusal: (error) =>
    error instanceof WrongToken ? `Payments cannot be settled: ${error.message}` : undefined,
})
