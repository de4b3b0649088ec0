import {
  type Clock,
  Gauge,
  kitLinks,
  type Page,
  Registry,
  type Secret,
  type ServiceApp,
  type ServiceAppOptions,
} from '@tallystick/service-kit'
import { createFacilitatorApp } from './facilitator-app.ts'
import type { ConsensusLimits } from './hedera/consensus-client.ts'
import type { ConsensusNode } from './hedera/consensus-nodes.ts'
import { createHederaFacilitator, type HederaFacilitator } from './hedera-facilitator.ts'
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

/** Wires the Hedera side, its metrics and log lines into a server. Throws RangeError for a key that cannot be read. */
export async function buildFacilitator(
  options: BuildFacilitatorOptions,
): Promise<BuiltFacilitator> {
  const { clock, logger, metricsToken, network } = options
  const registry = new Registry()
  const observer = observeSettlements(registry, logger)
  const hedera = createHederaFacilitator({ ...options, onEnd: observer.onEnd })
  new Gauge({
    name: 'facilitator_settlements_in_flight',
    help: 'Settlements under way.',
    registers: [registry],
    collect() {
      this.set(hedera.scheme.flightCount)
    },
  }).set(0)
  const app = await createFacilitatorApp({
    schemes: [{ network, scheme: hedera.scheme }],
    clock,
    registry,
    metricsToken,
    readiness: hedera.readiness,
    home: () => homePage(options, { hedera, observer }),
    ...(logger === undefined ? {} : { logger }),
  })
  return { app, hedera, registry }
}

async function homePage(
  { feePayer, network }: BuildFacilitatorOptions,
  live: { readonly hedera: HederaFacilitator; readonly observer: SettlementObserver },
): Promise<Page> {
  const { hedera, observer } = live
  const balance = await hedera.feePayerBalance()
  return {
    title: 'Tallystick facilitator',
    lead: 'Settles x402 payments on Hedera: it adds its signature as fee payer, submits once, and answers what the ledger recorded.',
    figures: [
      { label: 'Network', value: network },
      { label: 'Fee payer', value: feePayer },
      { label: 'Its balance, tinybar', value: balance?.toString() ?? 'unknown' },
      { label: 'Settled since start', value: String(observer.count('settled')) },
      {
        label: 'Refused or failed',
        value: String(observer.count('refused') + observer.count('failed')),
      },
    ],
    requests: [{ title: 'What it settles', code: 'curl -s http://127.0.0.1:4020/supported' }],
    links: kitLinks,
  }
}
