#!/usr/bin/env node
/** The facilitator's command: environment in, a listening server out. */
import { createLogger, loadConfig, serve, systemClock } from '@tallystick/service-kit'
import { type BuiltFacilitator, buildFacilitator } from './build-facilitator.ts'
import { facilitatorConfig } from './config.ts'
import { parseEvmAssets } from './evm/evm-assets.ts'
import { WrongToken } from './evm-facilitator.ts'

const config = loadConfig(facilitatorConfig, process.env)
const logger = createLogger({ name: 'facilitator', level: config.LOG_LEVEL })

async function build(): Promise<BuiltFacilitator> {
  try {
    return await buildFacilitator({
      network: config.NETWORK,
      consensusNodes: config.CONSENSUS_NODES ?? [],
      mirrorUrl: config.MIRROR_URL,
      feePayer: config.FEE_PAYER,
      feePayerKey: config.FEE_PAYER_KEY.reveal(),
      evm:
        config.EVM_RPC_URL === undefined || config.EVM_KEY === undefined
          ? undefined
          : {
              rpcUrl: config.EVM_RPC_URL,
              chainId: config.EVM_CHAIN_ID,
              privateKey: config.EVM_KEY.reveal(),
              assets: parseEvmAssets(config.EVM_ASSETS, config.EVM_CHAIN_ID) ?? [],
            },
      clock: systemClock,
      logger,
      metricsToken: config.METRICS_TOKEN,
    })
  } catch (error) {
    if (!(error instanceof WrongToken)) throw error
    process.stderr.write(`Payments cannot be settled: ${error.message}\n`)
    return process.exit(1)
  }
}

const { app, hedera, registry } = await build()
await serve({
  app,
  host: config.HOST,
  port: config.PORT,
  logger,
  registry,
  onStop: () => hedera.close(),
})
