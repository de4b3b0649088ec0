/**
 * The paying side of scheme `exact` on Hedera, for `@x402/fetch` and `x402Client`: writes and signs a transfer whose fee
 * the facilitator pays. It sends nothing to a ledger. Pages load this file, too.
 */
import type {
  PaymentPayloadResult,
  PaymentRequirements,
  SchemeNetworkClient,
} from '@x402/core/types'
import type { Clock } from '../../clock.ts'
import { isAccountId } from './account-id.ts'
import {
  DEFAULT_NODE_ACCOUNT_IDS,
  FEE_MAX_TINYBAR,
  MEMO_BYTES_MAX,
  VALID_DURATION_SECONDS_MAX,
  VALID_DURATION_SECONDS_MIN,
} from './hbar.ts'
import { type TransferDraft, writeTransactionList, writeTransferBody } from './write-transfer.ts'

export { agentMemo } from './payment-memo.ts'

/** Who pays: an account, and something that signs for it. The private key stays behind `sign`. */
export type HederaSigner = {
  /** `0.0.x`. */
  readonly accountId: string
  readonly keyKind: 'ed25519' | 'ecdsa'
  /** Raw: 32 bytes, or 33 compressed. */
  readonly publicKey: Uint8Array
  /** 64 bytes over a transaction body; ECDSA signs its keccak-256. */
  sign(bodyBytes: Uint8Array): Promise<Uint8Array> | Uint8Array
}

/**
 * Signs a transfer for each node that a facilitator may submit it to: `payload.transaction` of scheme `exact`, base64.
 * Throws RangeError for a draft with a bad account id.
 */
export async function signTransfer(
  signer: HederaSigner,
  draft: TransferDraft,
  nodeAccountIds: readonly string[] = DEFAULT_NODE_ACCOUNT_IDS,
): Promise<string> {
  const entries = await Promise.all(
    nodeAccountIds.map(async (node) => {
      const bodyBytes = writeTransferBody(draft, node)
      const signature = await signer.sign(bodyBytes)
      const { keyKind: kind, publicKey } = signer
      return { bodyBytes, kind, publicKey, signature }
    }),
  )
  const bytes = writeTransactionList(entries)
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** Validity starts this long before our clock, for nodes whose clock is behind; SDKs do the same. */
const BACKDATED_SECONDS = 8

/** A number from 0 to 999,999,999 by chance, as good as even: 2^53 is nine million times as many. */
function newNanos(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2))
  return ((high & 0x1f_ffff) * 2 ** 32 + low) % 1_000_000_000
}

/**
 * Scheme `exact` on Hedera, client side, for HBAR and tokens: `client.register('hedera:*', new ExactHederaClient({ signer }))`. It
 * names no asset that official clients would allow by themselves (`findDefaultAsset`): who caps its HBAR has allowed no dollars.
 */
export class ExactHederaClient implements SchemeNetworkClient {
  readonly scheme = 'exact'
  readonly #options

  constructor(options: {
    readonly signer: HederaSigner
    /** Nodes that the facilitator may submit to. */
    readonly nodeAccountIds?: readonly string[] | undefined
    /** At most 100 bytes, such as `x402:0x…`, which ties the payment to an agent (X10). Empty by default, as in official clients. */
    readonly memo?: string | undefined
    readonly clock?: Pick<Clock, 'unixMs'>
    /** A number from 0 to 999,999,999, so that two payments through one fee payer in one second differ. */
    readonly randomNanos?: (() => number) | undefined
  }) {
    this.#options = options
  }

  /** Signs the requested payment. Throws RangeError if it is not a transfer of HBAR or a token through a fee payer. */
  async createPaymentPayload(
    x402Version: number,
    requirements: PaymentRequirements,
  ): Promise<PaymentPayloadResult> {
    const draft = this.#draft(requirements)
    const { signer, nodeAccountIds } = this.#options
    const transaction = await signTransfer(signer, draft, nodeAccountIds)
    return { x402Version, payload: { transaction } }
  }

  #draft(requirements: PaymentRequirements): TransferDraft {
    const { amount, asset, extra, maxTimeoutSeconds, network, payTo } = requirements
    const { assetTransferMethod: method = 'cryptoTransfer', feePayer } = extra ?? {}
    if (!network.startsWith('hedera:') || !isAccountId(asset) || method !== 'cryptoTransfer') {
      throw new RangeError(
        'this client pays only by transfer of HBAR or a token on a Hedera network',
      )
    }
    if (typeof feePayer !== 'string' || !isAccountId(feePayer) || !isAccountId(payTo)) {
      throw new RangeError('a Hedera payment needs account ids as payTo and extra.feePayer')
    }
    if (!/^[1-9]\d*$/.test(amount)) throw new RangeError('amount is not a positive integer')
    const { clock, memo = '', randomNanos = newNanos, signer } = this.#options
    if (new TextEncoder().encode(memo).length > MEMO_BYTES_MAX) {
      throw new RangeError(`a memo has at most ${MEMO_BYTES_MAX} bytes`)
    }
    const nowSeconds = Math.floor((clock?.unixMs() ?? Date.now()) / 1_000)
    return {
      transactionId: {
        accountId: feePayer,
        validStartSeconds: BigInt(nowSeconds - BACKDATED_SECONDS),
        validStartNanos: randomNanos(),
      },
      payer: signer.accountId,
      payTo,
      asset,
      amount: BigInt(amount),
      feeMaxTinybar: FEE_MAX_TINYBAR,
      validDurationSeconds: validDuration(maxTimeoutSeconds),
      memo,
    }
  }
}

function validDuration(maxTimeoutSeconds: number): number {
  const wanted = Math.floor(maxTimeoutSeconds) + BACKDATED_SECONDS
  return Math.min(Math.max(wanted, VALID_DURATION_SECONDS_MIN), VALID_DURATION_SECONDS_MAX)
}
