import type { Clock, ReadinessCheck } from '@tallystick/service-kit'
import {
  type AccountDirectory,
  createMirrorAccountDirectory,
  createMirrorNode,
  TINYBAR_PER_HBAR,
} from '@tallystick/x402/hedera'
import { type ConsensusLimits, createConsensusClient } from './hedera/consensus-client.ts'
import type { ConsensusNode } from './hedera/consensus-nodes.ts'
import { ExactHederaFacilitator } from './hedera/exact-hedera-facilitator.ts'
import { parsePrivateKey } from './hedera/fee-payer-key.ts'
import { mirrorBalances } from './hedera/mirror-balance.ts'
import { createNodeProbe } from './hedera/node-probe.ts'
import type { SettlementListener } from './settlement-end.ts'

export type HederaFacilitatorOptions = SettlementListener & {
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
}

/** The facilitator side of `exact` on one Hedera network, with what it is ready for and how to let go of it. */
export type HederaFacilitator = {
  readonly scheme: ExactHederaFacilitator
  readonly readiness: Readonly<Record<string, ReadinessCheck>>
  /** Balance of the fee payer, tinybar, as the mirror node last knew it. */
  readonly feePayerBalance: () => Promise<bigint | undefined>
  /** Closes the connections to consensus nodes. */
  close(): void
}

/** Below this the fee payer should be topped up: enough for over a thousand transfers at their real price. */
const FEE_PAYER_BALANCE_MIN_TINYBAR = 5n * TINYBAR_PER_HBAR

/** However often the page and `/ready` are asked for, the mirror node is asked for the fee payer's balance this often. */
const BALANCE_KEPT_MS = 2_000

/** Reads one account's balance, shared between callers for a short time. */
function keptBalance(
  read: () => Promise<bigint | undefined>,
  clock: Clock,
): () => Promise<bigint | undefined> {
  let kept: { readonly atMs: number; readonly balance: Promise<bigint | undefined> } | undefined
  return () => {
    const nowMs = clock.unixMs()
    if (kept === undefined || nowMs - kept.atMs >= BALANCE_KEPT_MS)
      kept = { atMs: nowMs, balance: read() }
    return kept.balance
  }
}

/** Builds the Hedera side from addresses and a key. Throws RangeError where the key cannot be read; the message never holds it. */
export function createHederaFacilitator(options: HederaFacilitatorOptions): HederaFacilitator {
  const { clock, feePayer, mirrorUrl, network } = options
  const feePayerKey = parsePrivateKey(options.feePayerKey)
  if (feePayerKey === undefined) throw new RangeError('the fee payer’s key cannot be read')
  const mirror = createMirrorNode({ url: mirrorUrl, clock })
  const accounts = createMirrorAccountDirectory({ mirror, clock })
  const balances = mirrorBalances({ mirrorUrl, clock })
  const probe = createNodeProbe(clock)
  const nodes = options.consensusNodes
  const consensus = createConsensusClient({
    network,
    nodes,
    feePayer,
    feePayerKey,
    probe,
    clock,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  })
  const scheme = new ExactHederaFacilitator({
    network,
    feePayer,
    consensus,
    accounts,
    balances,
    clock,
    onDoubt: options.onDoubt,
    onEnd: options.onEnd,
  })
  const feePayerBalance = keptBalance(() => balances(feePayer), clock)
  return {
    scheme,
    readiness: {
      consensus: async () =>
        (await consensus.isReachable())
          ? { kind: 'ready' }
          : { kind: 'not-ready', reason: 'consensus_unreachable' },
      feePayer: feePayerCheck({
        feePayer,
        accounts,
        balance: feePayerBalance,
        publicKey: feePayerKey.publicKey.toBytesRaw(),
      }),
    },
    feePayerBalance,
    close: () => consensus.close(),
  }
}

function feePayerCheck(checked: {
  readonly feePayer: string
  readonly publicKey: Uint8Array
  readonly accounts: AccountDirectory
  readonly balance: () => Promise<bigint | undefined>
}): ReadinessCheck {
  const { accounts, feePayer, publicKey } = checked
  return async () => {
    const [account, balance] = await Promise.all([accounts.account(feePayer), checked.balance()])
    if (account === undefined || account.isDeleted)
      return { kind: 'not-ready', reason: 'fee_payer_unknown', details: { feePayer } }
    const { key } = account
    if (key !== null && 'publicKey' in key && !Buffer.from(key.publicKey).equals(publicKey))
      return { kind: 'not-ready', reason: 'fee_payer_key_mismatch', details: { feePayer } }
    if (balance === undefined) return { kind: 'not-ready', reason: 'mirror_unreachable' }
    const details = {
      feePayer,
      balanceTinybar: balance.toString(),
      minimumTinybar: FEE_PAYER_BALANCE_MIN_TINYBAR.toString(),
    }
    return balance < FEE_PAYER_BALANCE_MIN_TINYBAR
      ? { kind: 'not-ready', reason: 'fee_payer_balance_low', details }
      : { kind: 'ready', details }
  }
}
