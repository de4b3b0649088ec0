/**
 * Legacy transactions from one key, signed and sent one after the other with a nonce counted here: a mirror-backed nonce
 * lags by seconds, and a transaction after a gap is lost without a receipt. Another process may use the same key (A14) and
 * take a nonce; then it is read again. Hedera charges for a used nonce, so none is read while one of ours may still be
 * under way. What a transaction means is the caller's business.
 */
import { type BackOffLimits, type Clock, pause, retry } from '@tallystick/service-kit'
import { ChainUnavailable } from '../domain/access-contract.ts'
import type { Hex } from '../domain/access-window.ts'
import { keptRead } from '../domain/kept-read.ts'
import {
  type LedgerFacts,
  type LedgerReceipt,
  readNonce,
  readReceipt,
  WEIBAR_PER_TINYBAR,
} from './ledger-facts.ts'
import { type Relay, RelayRefusal } from './relay.ts'
import { expectedNonce, type SendRefusal, sendRefusal } from './send-refusal.ts'
import { createTransactionSigner, type TransactionSigner } from './transaction-signer.ts'

/** Tries for one transaction, each with a nonce read again: two replicas that race collide a few times at most. */
const SEND_TRIES = 8

/** Pause before the nonce is read again, milliseconds: a few blocks of a local ledger, a tenth of the mirror's lag. */
const NONCE_PAUSE_MS = 500

/** Pause if the ledger still shows a just refused nonce as unused, milliseconds: its read lags by up to 10 s. */
const LAG_PAUSE_MS = 2_000

/** How long a nonce read in advance may be used, milliseconds: a settlement's time. An older one is read again. */
const NONCE_MS = 10_000

/** A receipt shows after 3–10 s; a transaction without one in this time was lost to a nonce gap. Milliseconds. */
const RECEIPT_LIMIT_MS = 25_000

/** Pauses between two looks at a receipt: the relay answers a send once it has it. */
const RECEIPT_POLL: BackOffLimits = { firstMs: 500, maxMs: 2_000 }

/** Refusals that do not use up the nonce: the next try has the same one. */
const NONCE_LEFT: ReadonlySet<SendRefusal> = new Set([
  'not-taken',
  'gas-price-too-low',
  'insufficient-funds',
])

type OutgoingCall = {
  /** Absent for a contract's creation. */
  readonly to?: Hex
  readonly data: Hex
  readonly valueTinybar: bigint
  readonly gas: bigint
}

type OrderedSenderOptions = {
  readonly relay: Relay
  readonly facts: Pick<LedgerFacts, 'gasPriceWeibar'>
  readonly chainId: number
  readonly privateKey: Hex
  readonly clock: Clock
  /** Whether a refusal in unknown words ends the send; without it the bytes may have been taken. */
  readonly takesRefusals?: boolean
}

/** The price to offer: a tenth above the quote covers a rise, and the network charges its own price anyway. */
export function offeredGasPrice(quotedWeibar: bigint): bigint {
  return (quotedWeibar * 11n) / 10n
}

/** The receipt as soon as there is one; undefined, or the relay's last error, if there is none in time. */
async function awaitReceipt(
  { clock, relay }: Pick<OrderedSenderOptions, 'clock' | 'relay'>,
  hash: Hex,
): Promise<LedgerReceipt | undefined> {
  const limits = { ...RECEIPT_POLL, clock, limitMs: RECEIPT_LIMIT_MS }
  const end = await retry(limits, () => readReceipt(relay, hash))
  if (end.kind === 'done') return end.value
  if (end.cause !== undefined) throw end.cause
  return undefined
}

/** The nonces of one key: counted here after the first, and read again if one was lost or another process took it. */
function createNonces(clock: Clock, readNow: () => Promise<number>) {
  let next: number | undefined
  const ledgers = keptRead({ clock, keptMs: NONCE_MS, read: readNow })
  /** Transactions without a receipt: each may still use its nonce before the ledger's nonce shows it. */
  const underWay = new Set<Promise<unknown>>()
  return {
    /** Reads in advance. Never rejects. */
    async warm(): Promise<void> {
      if (next === undefined) await ledgers().catch(() => undefined)
    },
    async take(): Promise<number> {
      if (next !== undefined) return next
      if (underWay.size > 0) {
        await Promise.allSettled(underWay)
        ledgers.forget()
      }
      return await ledgers()
    },
    /** Sets the next one; undefined if it is unknown. */
    follow(nonce: number | undefined): void {
      next = nonce
      if (nonce === undefined) ledgers.forget()
    },
    /** Resolves as the receipt does. */
    async untilReceipted(receipt: Promise<LedgerReceipt | undefined>) {
      underWay.add(receipt)
      try {
        return await receipt
      } finally {
        underWay.delete(receipt)
      }
    },
  }
}

/** Signs and sends until the ledger has the bytes, or may have them; returns their hash. */
function createSubmit(
  options: OrderedSenderOptions,
  signer: TransactionSigner,
  nonces: ReturnType<typeof createNonces>,
): (call: OutgoingCall) => Promise<Hex> {
  const { relay, facts, chainId, clock } = options
  return async (call) => {
    let refused: { readonly nonce: number; readonly error: unknown } | undefined
    for (let attempt = 1; ; attempt += 1) {
      const [nonce, gasPrice] = await Promise.all([nonces.take(), facts.gasPriceWeibar()])
      if (nonce === refused?.nonce) {
        if (attempt >= SEND_TRIES) throw refused.error
        nonces.follow(undefined)
        await pause(clock, LAG_PAUSE_MS)
        continue
      }
      const { valueTinybar, ...rest } = call
      const valueWeibar = valueTinybar * WEIBAR_PER_TINYBAR
      const gasPriceWeibar = offeredGasPrice(gasPrice)
      const { rawTransaction, hash } = signer.sign({
        ...rest,
        chainId,
        nonce,
        valueWeibar,
        gasPriceWeibar,
      })
      try {
        await relay.send(rawTransaction)
        nonces.follow(nonce + 1)
        return hash
      } catch (error) {
        const refusal = sendRefusal(error)
        const next = NONCE_LEFT.has(refusal) ? nonce : expectedNonce(error)
        nonces.follow(next)
        // Bytes that may have been taken are awaited like those that were.
        const isRefused = options.takesRefusals === true && error instanceof RelayRefusal
        if (refusal === 'already-known' || (refusal === 'unclear' && !isRefused)) return hash
        const isFinal = refusal === 'unclear' || refusal === 'insufficient-funds'
        if (isFinal || attempt >= SEND_TRIES) throw error
        if (refusal === 'gas-price-too-low') facts.gasPriceWeibar.forget()
        if (refusal === 'wrong-nonce') refused = { nonce, error }
        if (next === undefined || refusal === 'not-taken') await pause(clock, NONCE_PAUSE_MS)
      }
    }
  }
}

export function createOrderedSender(options: OrderedSenderOptions) {
  const { relay, clock } = options
  const signer = createTransactionSigner(options.privateKey)
  const nonces = createNonces(clock, () => readNonce(relay, signer.address))
  const submit = createSubmit(options, signer, nonces)
  let queue: Promise<unknown> = Promise.resolve()

  return {
    address: signer.address,
    /** Reads in advance what the next transaction needs. Never rejects. */
    warm: () => nonces.warm(),
    /** Sends and waits. `undefined`: no receipt in time; the caller finds out what happened. Throws ChainUnavailable. */
    async send(
      call: OutgoingCall,
      onSent?: (hash: Hex) => void,
    ): Promise<LedgerReceipt | undefined> {
      const submitted = queue.then(async () => {
        const hash = await submit(call)
        onSent?.(hash)
        return { receipted: nonces.untilReceipted(awaitReceipt(options, hash)) }
      })
      queue = submitted.catch(() => undefined)
      let receipt: LedgerReceipt | undefined
      try {
        receipt = await (await submitted).receipted
        return receipt
      } catch (error) {
        throw new ChainUnavailable('the transaction could not be sent', { cause: error })
      } finally {
        // Without a receipt its nonce may be lost in a gap.
        if (receipt === undefined) nonces.follow(undefined)
      }
    },
    /** Returns when nothing is being sent. */
    async close(): Promise<void> {
      await queue
    },
  }
}
