/** Whether the configured token is the one on the network (G9): asked at the start, by `/ready`, and until it is known. */
import type { Clock } from '@tallystick/service-kit'
import {
  checkEvmDomain,
  type DomainCheck,
  type EvmAsset,
  type EvmLedger,
} from '@tallystick/x402/evm'

/** While the network does not answer, its token is asked for this often, milliseconds. */
const RETRY_MS = 30_000

export type TokenCheck = {
  /** Asks now. Never throws for the network. */
  check(): Promise<DomainCheck>
  /** False once the network has said that its token is another one: nothing is sold then. */
  maySell(): boolean
  /** Asks, and again until the network has answered. */
  start(): Promise<DomainCheck>
  close(): void
}

export function createTokenCheck(options: {
  readonly asset: EvmAsset
  readonly ledger: Pick<EvmLedger, 'chainId' | 'domainSeparator'>
  readonly clock: Clock
  /** Hears of each look that found another token than the configured one. */
  readonly onWrong?: (found: DomainCheck) => void
}): TokenCheck {
  const { asset, clock, ledger } = options
  let latest: DomainCheck | undefined
  let cancel: (() => void) | undefined
  let isClosed = false
  const check = async (): Promise<DomainCheck> => {
    const found = await checkEvmDomain(asset, ledger)
    // What was once known stays known while the network is silent.
    if (found.kind !== 'unreachable' || latest === undefined) latest = found
    if (found.kind === 'wrong_chain' || found.kind === 'wrong_domain') options.onWrong?.(found)
    return found
  }
  const start = async (): Promise<DomainCheck> => {
    const found = await check()
    if (found.kind === 'unreachable' && !isClosed)
      cancel = clock.after(RETRY_MS, () => void start())
    return found
  }
  return {
    check,
    maySell: () => latest?.kind !== 'wrong_chain' && latest?.kind !== 'wrong_domain',
    start,
    close() {
      isClosed = true
      cancel?.()
    },
  }
}
