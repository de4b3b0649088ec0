import { PrivateKey } from '@hiero-ledger/sdk'
import type { Clock, ReadinessCheck } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import {
  createFeeFloor,
  createMirrorAccountDirectory,
  createMirrorNode,
  formatHbar,
  readPrivateKey,
  TINYBAR_PER_HBAR,
} from '@tallystick/x402/hedera'
import type { FacilitatorLimits } from '../settlement.ts'
import { type ConsensusNetwork, createConsensusClient } from './consensus-client.ts'
import { type BalanceReader, createExactHedera } from './exact-hedera.ts'

/** A Hedera network and who pays its fees. */
export type HederaNetwork = ConsensusNetwork & {
  readonly mirrorUrl: string
  /** 32 bytes of an ECDSA key in hex, or DER of either kind. */
  readonly feePayerKey: string
}

/** The facilitator side of `exact` on one Hedera network, and whether it is ready. */
export type HederaFacilitator = ReturnType<typeof createHederaFacilitator>

/** Below this the fee payer should be topped up: enough for over a thousand transfers at their real price. */
const FEE_PAYER_BALANCE_MIN_TINYBAR = 5n * TINYBAR_PER_HBAR

/** The mirror node is asked for the fee payer's balance at most this often, however often the page and `/ready` are requested. */
const BALANCE_KEPT_MS = 2_000

/** Builds the Hedera side from addresses and a key. Throws RangeError if the key is unreadable; the message never contains it. */
export function createHederaFacilitator(
  settings: HederaNetwork,
  { clock, ...limits }: FacilitatorLimits & { readonly clock: Clock },
) {
  const { feePayer, mirrorUrl, network } = settings
  const feePayerKey = parsePrivateKey(settings.feePayerKey)
  if (feePayerKey === undefined) throw new RangeError('the fee payer’s key cannot be read')
  const publicKey = feePayerKey.publicKey.toBytesRaw()
  const mirror = createMirrorNode({ url: mirrorUrl, clock })
  const accounts = createMirrorAccountDirectory({ mirror, clock })
  const balances = mirrorBalances({ mirrorUrl, clock })
  const consensus = createConsensusClient({ ...settings, feePayerKey, clock })
  let lastRead: { readonly atMs: number; readonly balance: Promise<bigint | undefined> } | undefined

  function payerBalance(): Promise<bigint | undefined> {
    const nowMs = clock.unixMs()
    if (lastRead === undefined || nowMs - lastRead.atMs >= BALANCE_KEPT_MS)
      lastRead = { atMs: nowMs, balance: balances(feePayer) }
    return lastRead.balance
  }

  const consensusReady: ReadinessCheck = async () =>
    (await consensus.isReachable())
      ? { kind: 'ready' }
      : { kind: 'not-ready', reason: 'consensus_unreachable' }

  const feePayerReady: ReadinessCheck = async () => {
    const [account, balance] = await Promise.all([accounts.account(feePayer), payerBalance()])
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

  const feeFloor = createFeeFloor({ mirror, clock })
  const tokenMirror = createMirrorNode({ url: mirrorUrl, clock, timeoutMs: LOOK_TIMEOUT_MS })
  const reads = { accounts, balances, feeFloor, mirror: tokenMirror }
  const parts = { network, feePayer, consensus, clock, ...reads }
  return {
    network,
    scheme: createExactHedera({ ...parts, ...limits }),
    readiness: { consensus: consensusReady, feePayer: feePayerReady },
    payer: { label: 'Fee payer', account: feePayer, unit: 'tinybar', amountText: formatHbar },
    /** Reads what it holds, in that unit, as the mirror node last knew it. */
    balance: payerBalance,
    /** Closes the connections to consensus nodes. */
    close: (): void => consensus.close(),
  }
}

/** Longest wait for a mirror node's answer: what is read beforehand saves a fee, and a buyer waits. */
const LOOK_TIMEOUT_MS = 3_000

/**
 * Returns a reader of balances through a mirror node. Consensus nodes no longer answer balance queries (removed from
 * testnet in August 2026). A mirror node lags by seconds, so its answer is only a hint.
 */
export function mirrorBalances(options: {
  readonly mirrorUrl: string
  readonly clock: Clock
}): BalanceReader {
  const { clock, mirrorUrl: url } = options
  const mirror = createMirrorNode({ url, clock, timeoutMs: LOOK_TIMEOUT_MS })
  return async (accountId) => {
    try {
      return (await mirror.account(accountId))?.balanceTinybar
    } catch (error) {
      if (error instanceof LedgerUnavailable) return undefined
      throw error
    }
  }
}

/** Reads a private key: 32 bytes in hex are an ECDSA key; DER in hex names its own kind. Undefined for anything else. */
export function parsePrivateKey(text: string): PrivateKey | undefined {
  const key = readPrivateKey(text)
  if (key.kind === 'not_a_key') return undefined
  return key.keyKind === 'ecdsa'
    ? PrivateKey.fromStringECDSA(key.hex)
    : PrivateKey.fromStringED25519(key.hex)
}
