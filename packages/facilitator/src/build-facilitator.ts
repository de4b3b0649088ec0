import {
  type Clock,
  Gauge,
  kitLinks,
  listeningUrl,
  type Page,
  Registry,
  type Secret,
  type ServiceApp,
  type ServiceAppOptions,
} from '@tallystick/service-kit'
import {
  createEvmFacilitator,
  type EvmFacilitator,
  type EvmFacilitatorOptions,
} from './evm-facilitator.ts'
import { createFacilitatorApp } from './facilitator-app.ts'
import type { ConsensusLimits } from './hedera/consensus-client.ts'
import type { ConsensusNode } from './hedera/consensus-nodes.ts'
import { createHederaFacilitator, type HederaFacilitator } from './hedera-facilitator.ts'
import type { SettlementListener } from './settlement-end.ts'
import { observeSettlements, type SettlementObserver } from './settlement-observer.ts'

export type BuildFacilitatorOptions = {
  /** CAIP-2, e.g. `hedera:testnet`. */
  readonly network: string
  /** Empty: the public nodes of the network. */
  readonly consensusNodes: readonly ConsensusNode[]
  readonly mirrorUrl: string
  /** `0.0.x`. */
  readonly feePayer: string
  /** 32 bytes of an ECDSA key in hex, or DER of either kind. */
  readonly feePayerKey: string
  readonly clock: Clock
  /** A second network, where payments are signed token transfers. */
  readonly evm?: Omit<EvmFacilitatorOptions, 'clock' | keyof SettlementListener> | undefined
  readonly limits?: Partial<ConsensusLimits>
  readonly logger?: NonNullable<ServiceAppOptions['logger']>
  readonly metricsToken?: Secret | undefined
}

/** A facilitator that listens nowhere yet. */
export type BuiltFacilitator = {
  readonly app: ServiceApp
  readonly hedera: HederaFacilitator
  readonly registry: Registry
}

/**
 * Wires the Hedera side and, where configured, the EVM side with metrics and log lines into a server. Throws RangeError for
 * a key that cannot be read, and WrongToken for a chain or token that is not the configured one.
 */
export async function buildFacilitator(
  options: BuildFacilitatorOptions,
): Promise<BuiltFacilitator> {
  const { clock, logger, metricsToken, network } = options
  const registry = new Registry()
  const observer = observeSettlements(registry, logger)
  const { onDoubt, onEnd } = observer
  const evm =
    options.evm === undefined
      ? undefined
      : await createEvmFacilitator({ ...options.evm, clock, onDoubt, onEnd })
  const hedera = createHederaFacilitator({ ...options, onDoubt, onEnd })
  new Gauge({
    name: 'facilitator_settlements_in_flight',
    help: 'Settlements under way.',
    registers: [registry],
    collect() {
      this.set(hedera.scheme.flightCount + (evm?.scheme.flightCount ?? 0))
    },
  }).set(0)
  const url = (): string => (app.server.listening ? listeningUrl(app) : 'http://127.0.0.1:4020')
  const app = await createFacilitatorApp({
    schemes: [{ network, scheme: hedera.scheme }, ...(evm === undefined ? [] : [evm])],
    clock,
    registry,
    metricsToken,
    readiness: { ...hedera.readiness, ...evm?.readiness },
    home: () => homePage(options, { hedera, evm, observer, url: url() }),
    ...(logger === undefined ? {} : { logger }),
  })
  return { app, hedera, registry }
}

async function homePage(
  { feePayer, network }: BuildFacilitatorOptions,
  live: {
    readonly hedera: HederaFacilitator
    readonly evm: EvmFacilitator | undefined
    readonly observer: SettlementObserver
    readonly url: string
  },
): Promise<Page> {
  const { evm, hedera, observer, url } = live
  const balance = await hedera.feePayerBalance()
  return {
    title: 'Tallystick facilitator',
    lead: 'Settles x402 payments: it pays the fees, submits each payment once, and answers what the ledger recorded.',
    figures: [
      {
        label: 'Networks',
        value: [network, ...(evm === undefined ? [] : [evm.network])].join(', '),
      },
      { label: 'Fee payer', value: feePayer },
      { label: 'Its balance, tinybar', value: balance?.toString() ?? 'unknown' },
      ...(await evmFigures(evm)),
      { label: 'Settled since start', value: String(observer.count('settled')) },
      {
        label: 'Refused or failed',
        value: String(observer.count('refused') + observer.count('failed')),
      },
    ],
    requests: [{ title: 'What it settles', code: `curl -s ${url}/supported` }],
    links: kitLinks,
  }
}

async function evmFigures(evm: EvmFacilitator | undefined): Promise<NonNullable<Page['figures']>> {
  if (evm === undefined) return []
  const balance = await evm.gasBalance()
  return [
    { label: `Pays gas on ${evm.network}`, value: evm.scheme.getSigners(evm.network).join(', ') },
    { label: 'Its balance, wei', value: balance?.toString() ?? 'unknown' },
  ]
}
