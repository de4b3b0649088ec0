/** JSON-RPC counts value and gas price in weibar, the ledger and its contracts in tinybar. */
export const WEIBAR_PER_TINYBAR = 10_000_000_000n
