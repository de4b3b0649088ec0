import {
  type ListeningService,
  listeningUrl,
  Registry,
  type Service,
  type ServiceAppOptions,
  startListening,
  systemClock,
} from '@tallystick/service-kit'
import type { Page } from '@tallystick/service-kit/pages'
import { secp256k1Facts } from '@tallystick/x402/secp256k1'
import { createFacilitatorApp } from './app.ts'
import { createEvmFacilitator, type EvmChain } from './evm/evm-facilitator.ts'
import {
  createHederaFacilitator,
  type HederaFacilitator,
  type HederaNetwork,
} from './hedera/hedera-facilitator.ts'
import { observeSettlements, type SettlementObserver } from './observe-settlements.ts'

/** A facilitator's networks, and its server's dependencies. */
type FacilitatorOptions = HederaNetwork &
  Pick<ServiceAppOptions, 'clock' | 'logger' | 'metricsToken'> & {
    /** A second network, where payments are signed token transfers. */
    readonly evm?: EvmChain | undefined
    /** The only receivers whose payments are settled, accounts or addresses; by default any. */
    readonly servedPayTo?: readonly string[] | undefined
  }

/**
 * Wires the Hedera side and, if configured, the EVM side into a server with metrics and log lines. Throws RangeError for
 * an unreadable key, and WrongToken for a chain or token that is not the configured one.
 */
export async function createFacilitator(options: FacilitatorOptions): Promise<Service> {
  const { clock, logger, metricsToken } = options
  logger?.info(secp256k1Facts, 'secp256k1')
  const registry = new Registry()
  const observer = observeSettlements(registry, logger)
  const { onDoubt, onEnd } = observer
  const servedPayTo = options.servedPayTo && new Set(options.servedPayTo.map(lowerCase))
  const parts = { clock, onDoubt, onEnd, servedPayTo }
  if (servedPayTo === undefined)
    logger?.warn({}, 'SERVED_PAY_TO is unset: payments to anybody are settled, at your cost')
  const evm = options.evm && (await createEvmFacilitator(options.evm, parts))
  const hedera = createHederaFacilitator(options, parts)
  const networks = evm === undefined ? [hedera] : [hedera, evm]
  observer.measure(() => networks.reduce((sum, { scheme }) => sum + scheme.inFlightCount, 0))
  const url = (): string => (app.server.listening ? listeningUrl(app) : 'http://127.0.0.1:4020')
  const app = await createFacilitatorApp({
    schemes: networks,
    clock,
    registry,
    metricsToken,
    readiness: {
      secp256k1: async () => ({ kind: 'ready', details: secp256k1Facts }),
      ...hedera.readiness,
      ...evm?.readiness,
    },
    home: () => homePage(networks, { observer, url: url() }),
    logger,
  })
  return { app, registry, close: async () => hedera.close() }
}

const lowerCase = (text: string): string => text.toLowerCase()

async function homePage(
  networks: readonly Pick<HederaFacilitator, 'network' | 'payer' | 'balance'>[],
  { observer, url }: { readonly observer: SettlementObserver; readonly url: string },
): Promise<Page> {
  const payers = await Promise.all(
    networks.map(async ({ balance, payer: { account, amountText, label, unit } }) => {
      const amount = await balance()
      const figure =
        amount === undefined
          ? { value: 'unknown' }
          : { value: amountText(amount), exact: `${amount} ${unit}` }
      return [
        { label, value: account },
        { label: 'Its balance', ...figure },
      ]
    }),
  )
  return {
    title: 'Tallystick facilitator',
    lead: 'Settles x402 payments: it pays the fees, submits each payment once, and answers with what the ledger recorded.',
    figures: [
      { label: 'Networks', value: networks.map(({ network }) => network).join(', ') },
      ...payers.flat(),
      { label: 'Settled since start', value: String(observer.count('settled')) },
      {
        label: 'Refused or failed',
        value: String(observer.count('refused') + observer.count('failed')),
      },
    ],
    requests: [{ title: 'What it settles', code: `curl -s ${url}/supported` }],
  }
}

/** By default the system's clock, since transfers are judged by wall time, and a free loopback port. */
export type StartOptions = Omit<FacilitatorOptions, 'clock'> &
  Partial<Pick<FacilitatorOptions, 'clock'>> & { readonly host?: string; readonly port?: number }

/**
 * Starts a facilitator in this process, for tests, e2e and local stacks; it handles no signals. Rejects if the port is
 * taken or the key is unreadable.
 */
export async function startFacilitator(options: StartOptions): Promise<ListeningService> {
  const { clock = systemClock } = options
  return startListening(await createFacilitator({ ...options, clock }), options)
}
