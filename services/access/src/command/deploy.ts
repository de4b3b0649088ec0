// `deploy`: puts the access contract on the ledger and says what the service needs to run on it.

import { accessWindowAbi, accessWindowBytecode, accessWindowRules } from '@tallystick/contracts'
import { type Clock, systemClock } from '@tallystick/service-kit'
import { BadUsage } from '@tallystick/service-kit/command'
import { createMirrorNode, formatHbar, TINYBAR_PER_HBAR } from '@tallystick/x402/hedera'
import { type Address, encodeDeployData, type Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { forwardGas } from '../adapters/access-contract-writer.ts'
import { offeredGasPrice } from '../adapters/call-sender.ts'
import { readArmingGas } from '../adapters/contract-calls.ts'
import { WEIBAR_PER_TINYBAR } from '../adapters/ledger-facts.ts'
import { keyHex } from '../config.ts'
import type { OfferTerms } from '../domain/offer-economics.ts'
import { NEW_ARMING, OFFER_REPORT_OPTIONS, reportOffer } from './offer-report.ts'
import { askLedger, openOperatorLedger, viewLedger } from './operator-contract.ts'
import {
  addressFrom,
  countOption,
  hbarOption,
  needed,
  type OperatorCall,
  OperatorRefusal,
  type OperatorVerb,
} from './operator-verb.ts'

/** Defaults (A1). A local period is short enough to watch it renew. */
export const LOCAL_OFFER: OfferTerms = {
  priceTinybar: 3n * TINYBAR_PER_HBAR,
  periodSeconds: 20,
  callsAllowed: 200,
  slotSeconds: 1,
}
export const TESTNET_OFFER = {
  priceTinybar: 3n * TINYBAR_PER_HBAR,
  periodSeconds: 3_600,
  callsAllowed: 1_000,
}
/** Arms five renewals at 109 tinybar a gas: each locks 2 x 1.8 M gas, 3.92 HBAR. */
const RESERVE_TINYBAR = 20n * TINYBAR_PER_HBAR

/** A ledger on this machine has short periods by default. */
function isLocal(rpcUrl: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(rpcUrl).hostname)
}

/** Slots per period: few enough that agents share renewals, and enough that no first window is much longer (A19). */
const SLOTS_OF_A_PERIOD = 4

/**
 * Seconds between the ends of windows, unless the caller gives them: 1 on a ledger on this machine, where a person expects
 * a window to be as long as its period; elsewhere a quarter of the period, or the longest part below that divides it.
 */
export function slotSecondsFrom(call: OperatorCall, periodSeconds: number): number {
  const chosenSeconds = countOption(call, 'slot-seconds')
  if (chosenSeconds !== undefined) return chosenSeconds
  if (isLocal(call.config.LEDGER_RPC_URL)) return 1
  let slots = Math.min(SLOTS_OF_A_PERIOD, periodSeconds)
  while (periodSeconds % slots !== 0) slots += 1
  return periodSeconds / slots
}

/** Refuses what the contract refuses (A26). */
export function requirePrice(priceTinybar: bigint): void {
  const leastTinybar = BigInt(accessWindowRules.priceTinybarMin)
  if (priceTinybar < leastTinybar)
    throw new BadUsage(`A period costs at least ${formatHbar(leastTinybar)}.`)
}

function offerFrom(call: OperatorCall): OfferTerms {
  const base = isLocal(call.config.LEDGER_RPC_URL) ? LOCAL_OFFER : TESTNET_OFFER
  const priceTinybar = hbarOption(call, 'price-hbar') ?? base.priceTinybar
  requirePrice(priceTinybar)
  const periodSeconds = countOption(call, 'period-seconds') ?? base.periodSeconds
  return {
    priceTinybar,
    periodSeconds,
    callsAllowed: countOption(call, 'calls') ?? base.callsAllowed,
    slotSeconds: slotSecondsFrom(call, periodSeconds),
  }
}

function recordersFrom(call: OperatorCall): readonly Address[] {
  const recorders = call.text('recorders')
  if (recorders !== undefined)
    return recorders.split(',').map((text) => addressFrom(text, 'A recorder'))
  const { RECORDER_KEY: key } = call.config
  if (key === undefined)
    throw new BadUsage('Say who counts calls: RECORDER_KEY, or --recorders 0x…,0x….')
  return [privateKeyToAddress(keyHex(key))]
}

/** The EVM address from which payTo forwards, as the network knows it. */
async function readForwarder(call: OperatorCall): Promise<Address> {
  const payTo = needed(call.config, 'PAY_TO')
  const mirror = createMirrorNode({ url: call.config.MIRROR_URL, clock: call.clock })
  const account = await mirror.account(payTo)
  if (account === undefined) throw new OperatorRefusal(`The network has no account ${payTo}.`)
  const { PAY_TO_KEY: key } = call.config
  if (key !== undefined) {
    const ofKey = privateKeyToAddress(keyHex(key)).toLowerCase()
    if (ofKey !== account.evmAddress) {
      throw new OperatorRefusal(
        `PAY_TO_KEY is not the key of ${payTo}: it signs for ${ofKey}, and that account is ${account.evmAddress}.`,
      )
    }
  }
  return account.evmAddress
}

/** Variables of the service that have the same values as for this command. */
const SAME_VARIABLES = [
  'NETWORK',
  'LEDGER_RPC_URL',
  'LEDGER_CHAIN_ID',
  'MIRROR_URL',
  'FACILITATOR_URL',
] as const

/** `forwardTinybar`: what payTo must hold for the gas of one forward. */
function reportLines(
  call: OperatorCall,
  deployment: Deployment,
  forwardTinybar: bigint,
): readonly string[] {
  const { offer, forwarder, recorders, reserveTinybar } = deployment
  const payTo = needed(call.config, 'PAY_TO')
  const periods = call.config.PERIODS_PER_PURCHASE
  const purchase = offer.priceTinybar * BigInt(periods)
  return [
    `The access contract is at ${deployment.contract}, since block ${deployment.blockNumber}.`,
    `Offer:     ${formatHbar(offer.priceTinybar)} for ${offer.periodSeconds} s and ${offer.callsAllowed} calls; one payment buys ${periods} periods, ${formatHbar(purchase)}.`,
    `Slots:     windows end every ${offer.slotSeconds} s; agents of one slot share its renewals`,
    `Forwarder: ${forwarder} (${payTo})`,
    ...recorders.map((recorder) => `Recorder:  ${recorder}`),
    '',
    `Cost:      ${formatHbar(deployment.costTinybar)} (${deployment.gasUsed} gas)`,
    `Reserve:   ${formatHbar(reserveTinybar)} for arming renewals; add with \`fund\``,
    `Float:     keep at least ${formatHbar(purchase + forwardTinybar)} on ${payTo}: one purchase and the gas of its forward`,
    '',
    'Set for the service:',
    `  ACCESS_CONTRACT=${deployment.contract.toLowerCase()}`,
    `  PAY_TO=${payTo}`,
    `  PERIODS_PER_PURCHASE=${periods}`,
    ...SAME_VARIABLES.map((name) => `  ${name}=${call.config[name]}`),
    '  PAY_TO_KEY and RECORDER_KEY (or PAY_TO_KEY_FILE, RECORDER_KEY_FILE): the keys of the two above',
  ]
}

export const deployVerb: OperatorVerb = {
  name: 'deploy',
  usage:
    '[--price-hbar N] [--period-seconds N] [--calls N] [--slot-seconds N] [--reserve-hbar N] [--recorders 0x…,…] [--json] [--at-a-loss]',
  summary: 'put a contract on the ledger and print what the service needs',
  example: 'deploy --price-hbar 3 --period-seconds 3600 --calls 1000',
  options: {
    'price-hbar': 'text',
    'period-seconds': 'text',
    calls: 'text',
    'slot-seconds': 'text',
    'reserve-hbar': 'text',
    recorders: 'text',
    ...OFFER_REPORT_OPTIONS,
  },
  needs: ['OWNER_KEY', 'PAY_TO'],
  async run(call) {
    const { clock, config } = call
    const rpcUrl = config.LEDGER_RPC_URL
    const { facts, relay } = viewLedger(rpcUrl, clock)
    const [offer, recorders] = [offerFrom(call), recordersFrom(call)]
    const forwarder = await readForwarder(call)
    await askLedger(() => reportOffer(call, facts, { terms: offer, arming: NEW_ARMING }))
    const deployment = await deployAccessWindow({
      rpcUrl,
      clock,
      chainId: config.LEDGER_CHAIN_ID,
      ownerKey: keyHex(needed(config, 'OWNER_KEY')),
      offer,
      recorders,
      reserveTinybar: hbarOption(call, 'reserve-hbar') ?? RESERVE_TINYBAR,
      forwarder,
    })
    const [gas, gasPrice] = await askLedger(() =>
      Promise.all([readArmingGas(relay, deployment.contract), facts.gasPriceWeibar()]),
    )
    const forwardTinybar = forwardGas(gas, offeredGasPrice(gasPrice))
    for (const line of reportLines(call, deployment, forwardTinybar)) call.print(line)
  },
}

/** Creation of the contract: the code deposit is 200 gas a byte, at most 24,576 bytes. */
const DEPLOY_GAS = 7_000_000n

type DeployOptions = {
  /** JSON-RPC endpoint of the ledger. */
  readonly rpcUrl: string
  readonly chainId: number
  /** Times retries; the machine's unless stated. */
  readonly clock?: Clock
  /** ECDSA key in hex of the owner, who also pays for the deployment. */
  readonly ownerKey: Hex
  /** Account that forwards payments: the EVM address of payTo. */
  readonly forwarder: Address
  /** Accounts that count calls, one per service process. */
  readonly recorders: readonly Address[]
  readonly offer: OfferTerms
  /** Gas reserve to start with, tinybar; 0 funds nothing. */
  readonly reserveTinybar: bigint
}

export type Deployment = Awaited<ReturnType<typeof deployAccessWindow>>

/** Deploys the access contract in one transaction of the owner. Throws OperatorRefusal. */
export async function deployAccessWindow(options: DeployOptions) {
  const { rpcUrl, chainId, ownerKey: key, forwarder, recorders, offer } = options
  const { clock = systemClock } = options
  const ledger = await openOperatorLedger({ rpcUrl, chainId, key, clock })
  const receipt = await ledger.send({
    data: encodeDeployData({
      abi: accessWindowAbi,
      bytecode: accessWindowBytecode,
      args: [{ owner: ledger.address, forwarder, recorders, ...offer }],
    }),
    valueTinybar: options.reserveTinybar,
    gas: DEPLOY_GAS,
  })
  const { blockNumber, contractAddress: contract, costWeibar, gasUsed } = receipt
  if (!contract) throw new Error(`the receipt of ${receipt.transactionHash} names no contract`)
  return {
    contract,
    offer,
    forwarder,
    recorders,
    reserveTinybar: options.reserveTinybar,
    /** Block of the creation: the first one worth searching for its events. */
    blockNumber,
    gasUsed,
    /** Cost of that gas, without the reserve. */
    costTinybar: costWeibar / WEIBAR_PER_TINYBAR,
  }
}
