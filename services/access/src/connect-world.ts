/** The one place where adapters are made: everything that the service reaches over a network. They connect to nothing yet. */
import type { Clock } from '@tallystick/service-kit'
import { createFeePayerDirectory, createHttpFacilitator } from '@tallystick/x402'
import {
  createExactHederaScheme,
  createMirrorAccountDirectory,
  createMirrorNode,
} from '@tallystick/x402/hedera'
import { privateKeyToAddress } from 'viem/accounts'
import {
  createReadingClient,
  createSendingClient,
  WEIBAR_PER_TINYBAR,
} from './adapters/ledger-client.ts'
import { createMirrorPaymentLog } from './adapters/mirror-payment-log.ts'
import { createLedgerConditions, createUpstreamResource } from './adapters/paid-resource.ts'
import { createViemAccessContract } from './adapters/viem-access-contract.ts'
import { createViemContractSender } from './adapters/viem-contract-sender.ts'
import { createViemUsageLedger, usageGasLimit } from './adapters/viem-usage-ledger.ts'
import { type AccessConfig, keyHex } from './config.ts'
import { ZERO_ADDRESS } from './domain/access-window.ts'
import { GAS_PRICE_FACTOR, SEAL_AT_AGENTS } from './domain/usage-limits.ts'
import { createUsageRecorder, type UsageEventListener } from './domain/usage-recorder.ts'

export type WorldOptions = {
  readonly config: AccessConfig
  readonly clock: Clock
  /** By which the validity of payments is judged. */
  readonly paymentClock: Clock
  readonly onUsageEvent: UsageEventListener
}

/** How often the facilitator is asked who pays fees, which is also how soon `/ready` tells that it is down, milliseconds. */
const FEE_PAYERS_MS = 30_000

export type World = ReturnType<typeof connectWorld>

export function connectWorld(options: WorldOptions) {
  const { config, clock } = options
  const { NETWORK: network, LEDGER_CHAIN_ID: chainId } = config
  const client = createReadingClient(config.LEDGER_RPC_URL)
  const contract = createViemAccessContract({ client, chainId, address: config.ACCESS_CONTRACT })
  const recorderKey = keyHex(config.RECORDER_KEY)
  const recorder = privateKeyToAddress(recorderKey)
  const mirror = createMirrorNode({ url: config.MIRROR_URL, clock })
  const accounts = createMirrorAccountDirectory({ mirror, clock })
  const facilitator = createHttpFacilitator({ url: config.FACILITATOR_URL, clock })
  const { FEE_PAYERS: configured } = config
  const feePayers = createFeePayerDirectory({
    facilitator,
    clock,
    refreshMs: FEE_PAYERS_MS,
    ...(configured === undefined ? {} : { configured: new Map([[network, configured]]) }),
  })
  return {
    contract,
    facilitator,
    feePayers,
    log: createMirrorPaymentLog({ mirror, accounts, payTo: config.PAY_TO }),
    scheme: createExactHederaScheme({
      networks: [network],
      accounts,
      mirror,
      clock: options.paymentClock,
    }),
    sender: createViemContractSender({
      client: createSendingClient(config.LEDGER_RPC_URL),
      chainId,
      contract,
      privateKey: keyHex(config.PAY_TO_KEY),
      clock,
    }),
    usage: createUsageRecorder({
      ledger: createViemUsageLedger({
        rpcUrl: config.LEDGER_RPC_URL,
        chainId,
        // Without a contract no call gets as far as being recorded.
        contract: config.ACCESS_CONTRACT ?? ZERO_ADDRESS,
        privateKey: recorderKey,
      }),
      clock,
      recorderCount: config.RECORDER_COUNT,
      onEvent: options.onUsageEvent,
    }),
    /** What the recorder's account holds, and what it must hold for a full batch, tinybar. */
    recorderGas: async () => {
      const [held, gasPrice] = await Promise.all([
        client.getBalance({ address: recorder }),
        client.getGasPrice(),
      ])
      const needed = usageGasLimit(SEAL_AT_AGENTS) * GAS_PRICE_FACTOR * gasPrice
      return { held: held / WEIBAR_PER_TINYBAR, needed: needed / WEIBAR_PER_TINYBAR }
    },
    resource:
      config.RESOURCE_URL === undefined
        ? createLedgerConditions({ client, network, clock })
        : createUpstreamResource({
            url: config.RESOURCE_URL,
            timeoutMs: config.RESOURCE_TIMEOUT_MS,
          }),
  }
}
