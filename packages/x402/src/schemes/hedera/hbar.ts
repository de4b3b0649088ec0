/** CAIP-2 networks of the Hedera family. A local ledger uses the name of the network it stands in for. */
export const HEDERA_NETWORKS = ['hedera:mainnet', 'hedera:testnet', 'hedera:previewnet'] as const

/** The asset that stands for HBAR; amounts are tinybar. */
export const HBAR_ASSET = '0.0.0'

/** The longest validity that the network accepts, seconds (`maxTransactionDuration`). */
export const VALID_DURATION_SECONDS_MAX = 180

/**
 * How long after its validity starts a payment is certainly settled or dead, seconds: the longest validity, plus room for
 * clocks and the mirror node.
 */
export const PAYMENT_OVER_SECONDS = VALID_DURATION_SECONDS_MAX + 20

/** The shortest validity that the network accepts, seconds (`minTransactionDuration`). */
export const VALID_DURATION_SECONDS_MIN = 15

/** Digits after the decimal point of one HBAR in tinybar. */
export const HBAR_DECIMALS = 8

/** Tinybar in one HBAR. */
export const TINYBAR_PER_HBAR = 100_000_000n

/** The most a payment may let the fee payer be charged: the SDK's default, many times a transfer's real fee. */
export const FEE_MAX_TINYBAR = TINYBAR_PER_HBAR

/** Longest memo, in bytes of UTF-8. */
export const MEMO_BYTES_MAX = 100

/** A node that exists on every Hedera network, and on local ledgers. */
export const DEFAULT_NODE_ACCOUNT_IDS: readonly string[] = ['0.0.3']

const HBAR_PATTERN = /^(\d{1,11})(?:\.(\d+))?$/

/** An amount for people: `1234567890n` tinybar is `12.3456789 HBAR`. Exact; negative amounts have a minus sign. */
export function formatHbar(tinybar: bigint): string {
  const size = tinybar < 0n ? -tinybar : tinybar
  const fraction = (size % TINYBAR_PER_HBAR)
    .toString()
    .padStart(HBAR_DECIMALS, '0')
    .replace(/0+$/, '')
  const whole = (size / TINYBAR_PER_HBAR).toString()
  return `${tinybar < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`} HBAR`
}

/**
 * Reads a decimal HBAR amount as tinybar; undefined for anything else, including amounts finer than a tinybar.
 *
 * @example parseHbar('0.5') // 50_000_000n
 */
export function parseHbar(text: string): bigint | undefined {
  const [, whole, fraction = ''] = HBAR_PATTERN.exec(text) ?? []
  if (whole === undefined || fraction.length > HBAR_DECIMALS) return undefined
  return BigInt(whole) * TINYBAR_PER_HBAR + BigInt(fraction.padEnd(HBAR_DECIMALS, '0'))
}
