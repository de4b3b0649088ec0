import type { Clock } from '@tallystick/service-kit'

/**
 * The second at which the ledger is asked, and the one place where server time becomes ledger time: the server's
 * clock, rounded down. Reads pass it explicitly, because an `eth_call` sees the last block's time, which trails by
 * seconds or stands still; with it the contract projects the periods that are paid for, so that a read of an old state
 * still finds a funded window open (A8). A server clock a few seconds off shifts when a window closes by as much; the
 * contract takes usage for a window until 60 s after its end (A11).
 */
export function ledgerSeconds(clock: Clock): number {
  return Math.floor(clock.unixMs() / 1000)
}
