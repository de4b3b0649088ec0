import type { Clock } from '@tallystick/service-kit'
import type { SignedUsage, UsageEntry, UsageLedger } from './usage-ledger.ts'
import { GAS_PRICE_FACTOR, GAS_QUOTE_MS } from './usage-limits.ts'

/**
 * Hands out nonces and signatures of one key, one after the other: a nonce is used up only when its signature stands,
 * so that signing never leaves a gap. The nonce is read from the ledger once and counted here from then on.
 */
export class UsageSigner {
  readonly #ledger: UsageLedger
  readonly #clock: Clock
  #nextNonce: number | null = null
  #quotedWeibar: bigint | null = null
  #quotedAtMs = 0
  #preparing: Promise<void> | null = null
  #requoting: Promise<void> | null = null
  #lock: Promise<unknown> = Promise.resolve()

  constructor(options: { ledger: UsageLedger; clock: Clock }) {
    this.#ledger = options.ledger
    this.#clock = options.clock
  }

  /** True once nonce and gas price are known, so that signing needs no request. */
  get isReady(): boolean {
    return this.#nextNonce !== null && this.#quotedWeibar !== null
  }

  /** What a signature made now offers, weibar. */
  get offeredWeibar(): bigint {
    return (this.#quotedWeibar ?? 0n) * GAS_PRICE_FACTOR
  }

  /** Reads nonce and gas price; calls at the same time share one reading. Rejects when the ledger does not answer. */
  prepare(): Promise<void> {
    this.#preparing ??= this.#readAll().finally(() => {
      this.#preparing = null
    })
    return this.#preparing
  }

  /** Reads the gas price anew. Rejects when the ledger does not answer. */
  requote(): Promise<void> {
    this.#requoting ??= this.#quote().finally(() => {
      this.#requoting = null
    })
    return this.#requoting
  }

  /** Signs with the next nonce, at least `nonceMin`. */
  signNext(entries: readonly UsageEntry[], nonceMin = 0): Promise<SignedUsage> {
    if (this.#clock.unixMs() - this.#quotedAtMs >= GAS_QUOTE_MS) {
      this.#quotedAtMs = this.#clock.unixMs()
      // In the background: the old quote serves meanwhile, and a refused price is quoted anew by the sender.
      this.requote().catch(() => {})
    }
    return this.#exclusively(async () => {
      if (this.#nextNonce === null) throw new Error('signing before the nonce is known')
      const nonce = Math.max(this.#nextNonce, nonceMin)
      const signed = await this.signAt(entries, nonce)
      this.#nextNonce = nonce + 1
      return signed
    })
  }

  /** Signs with a nonce that was handed out before, or that is missing on the ledger. */
  signAt(entries: readonly UsageEntry[], nonce: number): Promise<SignedUsage> {
    return this.#ledger.sign({ entries, nonce, gasPriceWeibar: this.offeredWeibar })
  }

  async #readAll(): Promise<void> {
    const [nonce] = await Promise.all([this.#ledger.readNonce(), this.#quote()])
    this.#nextNonce ??= nonce
  }

  async #quote(): Promise<void> {
    this.#quotedWeibar = await this.#ledger.quoteGasPriceWeibar()
    this.#quotedAtMs = this.#clock.unixMs()
  }

  #exclusively<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#lock.then(run)
    this.#lock = result.catch(() => {})
    return result
  }
}
