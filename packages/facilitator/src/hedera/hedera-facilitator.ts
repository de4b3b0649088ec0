import { PrivateKey } from '@hiero-ledger/sdk'
import type { Clock, ReadinessCheck } from '@tallystick/service-kit'
import { fetchJson } from '@tallystick/x402'
import {
  type AccountDirectory,
  createMirrorAccountDirectory,
  createMirrorNode,
  TINYBAR_PER_HBAR,
} from '@tallystick/x402/hedera'
import { z } from 'zod'
import type { ExactFacilitator, SettlementListener } from '../settlement.ts'
import { type ConsensusNetwork, createConsensusClient } from './consensus-client.ts'
import { type BalanceReader, createExactHedera } from './exact-hedera.ts'

/** A Hedera network and who pays its fees. */
export type HederaNetwork = ConsensusNetwork & {
  readonly mirrorUrl: string
  /** 32 bytes of an ECDSA key in hex, or DER of either kind. */
  readonly feePayerKey: string
}

/** The facilitator side of `exact` on one Hedera network, with what it is ready for and how to let go of it. */
export type HederaFacilitator = {
  readonly scheme: ExactFacilitator
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
export function createHederaFacilitator(
  settings: HederaNetwork,
  { clock, ...listener }: SettlementListener & { readonly clock: Clock },
): HederaFacilitator {
  const { feePayer, mirrorUrl, network } = settings
  const feePayerKey = parsePrivateKey(settings.feePayerKey)
  if (feePayerKey === undefined) throw new RangeError('the fee payer’s key cannot be read')
  const mirror = createMirrorNode({ url: mirrorUrl, clock })
  const accounts = createMirrorAccountDirectory({ mirror, clock })
  const balances = mirrorBalances({ mirrorUrl, clock })
  const consensus = createConsensusClient({ ...settings, feePayerKey, clock })
  const feePayerBalance = keptBalance(() => balances(feePayer), clock)
  return {
    scheme: createExactHedera({
      network,
      feePayer,
      consensus,
      accounts,
      balances,
      clock,
      ...listener,
    }),
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

/** A mirror node that takes longer is not waited for: the balance is looked at to spare a fee, not to be safe. */
const BALANCE_TIMEOUT_MS = 3_000

/** An account with the hundred tokens that are told along is some 10 kB. */
const BALANCE_BYTES_MAX = 65_536

const accountSchema = z.object({ balance: z.object({ balance: z.int().min(0) }) })

/**
 * Returns a reader of balances through a mirror node. Consensus nodes answer balance queries no more (removed from
 * testnet in August 2026), and a mirror node lags by seconds: what it says is a hint.
 */
export function mirrorBalances({
  clock,
  mirrorUrl,
}: {
  readonly mirrorUrl: string
  readonly clock: Clock
}): BalanceReader {
  const base = mirrorUrl.replace(/\/+$/, '')
  return async (accountId) => {
    const answer = await fetchJson({
      url: `${base}/api/v1/accounts/${accountId}?transactions=false`,
      clock,
      timeoutMs: BALANCE_TIMEOUT_MS,
      bytesMax: BALANCE_BYTES_MAX,
    })
    if (answer.kind !== 'answered') return undefined
    const { data } = accountSchema.safeParse(answer.json)
    return data === undefined ? undefined : BigInt(data.balance.balance)
  }
}

const RAW_KEY = /^(?:0x)?([0-9a-fA-F]{64})$/
const DER_KEY = /^(?:0x)?(30[0-9a-fA-F]{60,})$/

/**
 * Reads a private key: 32 bytes in hex are an ECDSA (secp256k1) key, DER in hex says itself which kind it is; an Ed25519
 * key must be DER, since its bare bytes look like any other. Undefined for anything else.
 */
export function parsePrivateKey(text: string): PrivateKey | undefined {
  const [, raw] = RAW_KEY.exec(text) ?? []
  const [, der] = DER_KEY.exec(text) ?? []
  try {
    if (raw !== undefined) return PrivateKey.fromStringECDSA(raw)
    return der === undefined ? undefined : PrivateKey.fromStringDer(der)
  } catch {
    return undefined
  }
}
