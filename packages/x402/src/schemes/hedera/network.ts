/** CAIP-2 networks of the Hedera family. Local ledgers take the name of the network they stand in for. */
export const HEDERA_NETWORKS = ['hedera:mainnet', 'hedera:testnet', 'hedera:previewnet'] as const

/** The asset that stands for HBAR; amounts are tinybar. */
export const HBAR_ASSET = '0.0.0'

/** The longest validity that the network takes, seconds (`maxTransactionDuration`). */
export const VALID_DURATION_SECONDS_MAX = 180

/** The shortest one (`minTransactionDuration`). */
export const VALID_DURATION_SECONDS_MIN = 15

/** Tinybar in one HBAR. */
export const TINYBAR_PER_HBAR = 100_000_000n

/** Longest memo, in bytes of UTF-8. */
export const MEMO_BYTES_MAX = 100

/** A node of every Hedera network, and of local ledgers. */
export const DEFAULT_NODE_ACCOUNT_IDS: readonly string[] = ['0.0.3']
