const TINYBAR_PER_HBAR = 100_000_000n

/** Reminds of the two units, which are easily mixed up. */
export const CURRENCY_NOTE =
  '  1 HBAR = 10^8 tinybar (consensus, mirror, inside contracts) = 10^18 weibar (JSON-RPC).'

/** Tinybar as HBAR, with as many decimals as there are. */
export function toHbarText(tinybar: bigint): string {
  const fraction = (tinybar % TINYBAR_PER_HBAR).toString().padStart(8, '0').replace(/0+$/, '')
  const whole = (tinybar / TINYBAR_PER_HBAR).toLocaleString('en-US')
  return fraction === '' ? whole : `${whole}.${fraction}`
}
