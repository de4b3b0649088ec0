/**
 * Single calls from one key, each of which its caller waits for: payTo's and the owner's. A queue of transactions (A10) signs
 * and sends them, one after the other; another process may use the same key (A14) and take a nonce, and then a call is
 * signed again. What a call means is the caller's business.
 */
import { type BackOffLimits, type Clock, keptRead, retry } from '@tallystick/service-kit'
import { ChainUnavailable } from '../domain/access-contract.ts'
import type { Hex } from '../domain/access-window.ts'
import type { SendResult, TransactionLedger } from '../transactions/transaction-ledger.ts'
import { TransactionQueue } from '../transactions/transaction-queue.ts'
import { createTransactionSigner } from './contract-calls.ts'
import {
  type LedgerFacts,
  type LedgerReceipt,
  readNonce,
  readReceipt,
  WEIBAR_PER_TINYBAR,
} from './ledger-facts.ts'
import { type Relay, RelayRefusal, sendTransaction } from './relay.ts'

/** Tries for one call: two replicas that race for a nonce collide a few times at most, and a relay that is not reached for
 * so long is down. */
const SEND_TRIES = 6

/** Pauses between tries: the first is a few blocks of a local ledger and a tenth of the mirror's lag. */
const RETRY: BackOffLimits = { firstMs: 500, maxMs: 2_000 }

/** How long the ledger's nonce may lag behind a refusal of its consensus nodes. Milliseconds. */
const NONCE_LAG_MS = 12_000

/** How long a nonce read in advance may be used, milliseconds: a settlement's time. An older one is read again. */
const NONCE_MS = 10_000

/** A receipt shows after 3–10 s; a call without one in this time is given up, and its caller finds out what happened.
 * Milliseconds. */
const RECEIPT_LIMIT_MS = 25_000

type OutgoingCall = {
  /** Absent for a contract's creation. */
  readonly to?: Hex
  readonly data: Hex
  readonly valueTinybar: bigint
  readonly gas: bigint
}

type CallSenderOptions = {
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

/** The ledger of that key. Requests reject with the relay's errors. */
function createCallLedger(
  options: CallSenderOptions,
): TransactionLedger<AwaitedCall, LedgerReceipt> & { readonly address: Hex } {
  const { chainId, clock, facts, relay, takesRefusals = false } = options
  const signer = createTransactionSigner(options.privateKey)
  const readOwnNonce = () => readNonce(relay, signer.address)
  /** Waits until the ledger's nonce shows why this one was wrong. */
  const readNonceUnlike = async (nonce: number): Promise<number | undefined> => {
    const found = await retry({ ...RETRY, clock, limitMs: NONCE_LAG_MS }, async () => {
      const ledgerNonce = await readOwnNonce()
      return ledgerNonce === nonce ? undefined : { ledgerNonce }
    })
    return found.kind === 'done' ? found.value.ledgerNonce : undefined
  }
  return {
    address: signer.address,
    readNonce: readOwnNonce,
    quoteGasPriceWeibar: () => facts.gasPriceWeibar(),
    sign: ({ left: _left, receipt: _receipt, valueTinybar, ...call }) =>
      signer.sign({ ...call, chainId, valueWeibar: valueTinybar * WEIBAR_PER_TINYBAR }),
    async send(signed): Promise<SendResult> {
      const result = await sendTransaction(relay, signed).catch((error: unknown) => {
        if (takesRefusals && error instanceof RelayRefusal)
          return { kind: 'refused', error } as const
        throw error
      })
      if (result.kind === 'gas-price-too-low') facts.gasPriceWeibar.forget()
      if (result.kind !== 'wrong-nonce') return result
      const nextNonce = await readNonceUnlike(signed.nonce)
      if (nextNonce === undefined) return { ...result, kind: 'refused' }
      const kind = nextNonce > signed.nonce ? 'nonce-too-low' : 'nonce-too-high'
      return { ...result, kind, nextNonce }
    },
    readReceipt: (hash) => readReceipt(relay, hash as Hex),
  }
}

/** A call, and whoever waits for it. */
type AwaitedCall = OutgoingCall & {
  /** The call left, so that the next one may be signed. */
  readonly left: PromiseWithResolvers<void>
  /** Undefined: no receipt in time. */
  readonly receipt: PromiseWithResolvers<LedgerReceipt | undefined>
}

/** The queue of a key, with whoever waits for each call in it. */
function createCallQueue(clock: Clock, ledger: TransactionLedger<AwaitedCall, LedgerReceipt>) {
  const queue = new TransactionQueue<AwaitedCall, LedgerReceipt>({
    ledger,
    clock,
    retry: RETRY,
    offer: offeredGasPrice,
    patience: {
      triesMax: SEND_TRIES,
      onRefused: ({ work }, error) => work.left.reject(error),
    },
    onLeft: ({ work }) => work.left.resolve(),
    onEnd: ({ work }, found) => work.receipt.resolve('kind' in found ? undefined : found),
  })
  return {
    queue,
    /** Resolves when every call has its receipt, or was given up. */
    async untilEmpty(): Promise<void> {
      await Promise.all(queue.unfinished.map(({ work }) => work.receipt.promise))
    },
    /** Signs the call and resolves once it has left; rejects with the ledger's words if it was refused. */
    async add(call: OutgoingCall) {
      const left = Promise.withResolvers<void>()
      const receipt = Promise.withResolvers<LedgerReceipt | undefined>()
      const transaction = queue.add({ ...call, left, receipt })
      await left.promise
      const cancel = clock.after(RECEIPT_LIMIT_MS, () => {
        if (queue.giveUp(transaction)) receipt.resolve(undefined)
      })
      return { transaction, receipt: receipt.promise.finally(cancel) }
    },
  }
}

type SentCall = {
  readonly hash: string
  /** Undefined: none in time; the caller finds out what happened. */
  readonly receipt: LedgerReceipt | undefined
}

export function createCallSender(options: CallSenderOptions) {
  const { clock } = options
  const { address, ...ledger } = createCallLedger(options)
  const calls = createCallQueue(clock, ledger)
  const { queue } = calls
  const firstNonce = keptRead({ clock, keptMs: NONCE_MS, read: () => ledger.readNonce() })
  let lastTurn: Promise<unknown> = Promise.resolve()

  const take = async (call: OutgoingCall) => {
    if (!queue.knowsNonce) {
      // Those under way may still use their nonces before the ledger's nonce shows it.
      if (queue.unfinished.length > 0) firstNonce.forget()
      await calls.untilEmpty()
    }
    await queue.prepare(firstNonce)
    firstNonce.forget()
    return await calls.add(call)
  }

  return {
    address,
    /** Reads in advance what the next call needs. Never rejects. */
    async warm(): Promise<void> {
      if (!queue.knowsNonce) await firstNonce().catch(() => undefined)
    },
    /** Sends the call once every earlier one has left, and waits. Throws ChainUnavailable. */
    async send(call: OutgoingCall): Promise<SentCall> {
      const turn = lastTurn.then(() => take(call))
      lastTurn = turn.catch(() => undefined)
      try {
        const { receipt, transaction } = await turn
        return { receipt: await receipt, hash: transaction.hash }
      } catch (error) {
        throw new ChainUnavailable('the transaction could not be sent', { cause: error })
      }
    },
    /** Returns when nothing is being sent. */
    async close(): Promise<void> {
      await lastTurn
    },
  }
}
