/**
 * Legacy transactions from one key, signed and sent one after the other with a nonce counted here: a mirror-backed nonce
 * lags by seconds, and a gap is lost without a receipt. Another process may use the same key (A14): a nonce that it took
 * is asked for anew. What a transaction means is the caller's business.
 */
import { type Clock, pause } from '@tallystick/service-kit'
import { keccak256, type PublicClient, type TransactionReceipt } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../domain/access-window.ts'
import { ChainUnavailable } from '../domain/ports.ts'
import {
  expectedNonce,
  isNotFound,
  offeredGasPrice,
  sendRefusal,
  WEIBAR_PER_TINYBAR,
} from './ledger-client.ts'

/** Tries for one transaction, each with a nonce read anew: two replicas that race collide a few times at most. */
const SEND_TRIES = 8

/** Pause before the nonce is read again, milliseconds: a few blocks of a local ledger, a tenth of the mirror's lag. */
const NONCE_PAUSE_MS = 500

/** A receipt shows after 3–10 s; a transaction without one by then was lost to a nonce gap. */
const RECEIPT_LIMIT_MS = 25_000

/** Between two looks at a receipt, milliseconds. */
const RECEIPT_POLL_MS = 250

type OutgoingCall = {
  readonly to: Hex
  readonly data: Hex
  readonly valueTinybar: bigint
  readonly gas: bigint
}

type OrderedSenderOptions = {
  readonly client: PublicClient
  readonly chainId: number
  readonly privateKey: Hex
  readonly clock: Clock
}

export function createOrderedSender(options: OrderedSenderOptions) {
  const { client, chainId, clock } = options
  const account = privateKeyToAccount(options.privateKey)
  let nextNonce: number | undefined
  let queue: Promise<unknown> = Promise.resolve()

  const gasPriceWeibar = async (): Promise<bigint> => offeredGasPrice(await client.getGasPrice())

  const submit = async (call: OutgoingCall): Promise<Hex> => {
    for (let attempt = 1; ; attempt += 1) {
      const nonce = nextNonce ?? (await client.getTransactionCount({ address: account.address }))
      const serialized = await account.signTransaction({
        type: 'legacy',
        chainId,
        nonce,
        to: call.to,
        data: call.data,
        value: call.valueTinybar * WEIBAR_PER_TINYBAR,
        gas: call.gas,
        gasPrice: await gasPriceWeibar(),
      })
      try {
        await client.sendRawTransaction({ serializedTransaction: serialized })
        nextNonce = nonce + 1
        return keccak256(serialized)
      } catch (error) {
        const refusal = sendRefusal(error)
        nextNonce = expectedNonce(error)
        // Bytes that may have been taken are waited for like those that were.
        if (refusal === 'already-known' || refusal === 'unclear') return keccak256(serialized)
        if (refusal === 'insufficient-funds' || attempt >= SEND_TRIES) throw error
        if (nextNonce === undefined) await pause(clock, NONCE_PAUSE_MS)
      }
    }
  }

  const awaitReceipt = async (hash: Hex): Promise<TransactionReceipt | undefined> => {
    const untilMs = clock.unixMs() + RECEIPT_LIMIT_MS
    for (;;) {
      try {
        return await client.getTransactionReceipt({ hash })
      } catch (error) {
        if (clock.unixMs() >= untilMs) {
          nextNonce = undefined
          if (isNotFound(error)) return undefined
          throw error
        }
      }
      await pause(clock, RECEIPT_POLL_MS)
    }
  }

  return {
    address: account.address.toLowerCase() as Hex,
    /** The price that a transaction sent now offers per gas, weibar. */
    gasPriceWeibar,
    /** Sends and waits. `undefined`: no receipt in time, the caller looks what became of it. Throws ChainUnavailable. */
    async send(call: OutgoingCall): Promise<TransactionReceipt | undefined> {
      const submitted = queue.then(() => submit(call))
      queue = submitted.catch(() => undefined)
      try {
        return await awaitReceipt(await submitted)
      } catch (error) {
        throw new ChainUnavailable('the transaction could not be sent', { cause: error })
      }
    },
    /** Returns when nothing is being sent. */
    async close(): Promise<void> {
      await queue
    },
  }
}
