/**
 * An in-memory EVM chain for tests of the scheme: nonces, events and contract wallets set by the test, behind the ledger
 * port. The facilitator's tests use the real chain.
 */
import type { Clock } from '../clock.ts'
import type { PaymentRequirement, VerifiedPayment } from '../payment.ts'
import { domainSeparator, evmSigner, signingDomain } from '../schemes/evm/authorization.ts'
import { X_LAYER_USDT0 } from '../schemes/evm/evm-asset.ts'
import type { AuthorizationKey, EvmLedger, EvmLog, EvmReceipt } from '../schemes/evm/evm-ledger.ts'
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  type Hex,
  hexOfBytes,
  TRANSFER_TOPIC,
  uintWord,
} from '../schemes/evm/evm-words.ts'
import { ExactEvmClient } from '../schemes/evm/exact-evm-client.ts'
import { evmRequirement } from '../schemes/evm/exact-evm-scheme.ts'
import { LedgerUnavailable } from '../schemes/payment-scheme.ts'

export const EVM_NOW_SECONDS = 1_795_226_000
export const EVM_PAY_TO = '0x1111111111111111111111111111111111111111'
const EVM_PAYER_KEY = '11'.repeat(32)
export const evmPayer = evmSigner({ privateKey: EVM_PAYER_KEY })

/** What a test puts into a transaction's log. */
type LoggedTransfer = { readonly from: Hex; readonly to: Hex; readonly value: bigint }

export class EvmStandIn {
  readonly #clock: Pick<Clock, 'unixMs'>
  /** Seconds between two blocks, counted from block 0 at time 0. */
  readonly blockSeconds = 2
  readonly used = new Set<string>()
  readonly receipts: EvmReceipt[] = []
  readonly wallets = new Map<Hex, (digest: Uint8Array, signature: Uint8Array) => boolean>()
  isDown = false
  /** Every account's balance of every token; undefined if the node cannot say. */
  balance: bigint | undefined = 1_000_000n
  /** Calls that reached the node. */
  calls = 0

  /** Time stands still by default. */
  constructor(clock: Pick<Clock, 'unixMs'> = { unixMs: () => EVM_NOW_SECONDS * 1_000 }) {
    this.#clock = clock
  }

  get nowSeconds(): number {
    return Math.floor(this.#clock.unixMs() / 1_000)
  }

  get ledger(): EvmLedger {
    const answer = async <Value>(value: () => Value): Promise<Value> => {
      if (this.isDown) throw new LedgerUnavailable('the node is down')
      this.calls += 1
      return value()
    }
    const makeBlock = (number: bigint) => ({
      number,
      timestampSeconds: Number(number) * this.blockSeconds,
    })
    const latest = () => BigInt(Math.floor(this.nowSeconds / this.blockSeconds))
    return {
      chainId: () => answer(() => 196),
      block: (number = latest()) => answer(() => makeBlock(number)),
      isAuthorizationUsed: (key) => answer(() => this.used.has(usedKey(key))),
      authorizationLogs: (key, { fromBlock, toBlock }) =>
        answer(() =>
          this.receipts
            .flatMap((receipt) => receipt.logs)
            .filter(
              (log) =>
                log.blockNumber >= fromBlock &&
                log.blockNumber <= toBlock &&
                log.address === key.asset &&
                log.topics[0] !== TRANSFER_TOPIC &&
                log.topics[1] === addressTopic(key.payer) &&
                log.topics[2] === key.nonce,
            ),
        ),
      receipt: (transaction) =>
        answer(() => this.receipts.find((receipt) => receipt.transaction === transaction)),
      isValidSignature: ({ digest, signature, wallet }) =>
        answer(() => this.wallets.get(wallet)?.(digest, signature) ?? false),
      domainSeparator: () =>
        answer(() => hexOfBytes(domainSeparator(signingDomain(X_LAYER_USDT0)))),
      balanceOf: () =>
        answer(() => {
          if (this.balance === undefined) throw new LedgerUnavailable('no balance')
          return this.balance
        }),
    }
  }

  /** Mines a transaction with these events, in order, at a time in the past or now. */
  mine(
    events: readonly (
      | { readonly kind: 'used' | 'canceled'; readonly key: AuthorizationKey }
      | ({ readonly kind: 'transfer'; readonly asset: Hex } & LoggedTransfer)
    )[],
    atSeconds = this.nowSeconds,
  ): Hex {
    const blockNumber = BigInt(Math.floor(atSeconds / this.blockSeconds))
    const transaction = hexOfBytes(uintWord(BigInt(this.receipts.length + 1)))
    const logs = events.map((event, logIndex): EvmLog => {
      const place = { logIndex, transaction, blockNumber }
      if (event.kind === 'transfer') {
        const topics = [TRANSFER_TOPIC, addressTopic(event.from), addressTopic(event.to)]
        return { ...place, address: event.asset, topics, data: hexOfBytes(uintWord(event.value)) }
      }
      const { asset: address, nonce, payer } = event.key
      this.used.add(usedKey(event.key))
      const topic = event.kind === 'used' ? AUTHORIZATION_USED_TOPIC : AUTHORIZATION_CANCELED_TOPIC
      const topics = [topic, addressTopic(payer), nonce as Hex]
      return { ...place, address: address as Hex, topics, data: '0x' }
    })
    this.receipts.push({ transaction, isSuccess: true, blockNumber, logs })
    return transaction
  }

  /** Submits a payment as the token does: a nonce works once. Undefined if it reverts. */
  submit(payment: VerifiedPayment): Hex | undefined {
    if (this.used.has(usedKey(payment))) return undefined
    return this.mine(settlementEvents(payment))
  }
}

/** How `used` names a nonce. */
export const usedKey = ({ asset, nonce, payer }: AuthorizationKey): string =>
  `${asset} ${payer} ${nonce}`

/** A cent of USD₮0. */
export function centRequirement(changes: Partial<PaymentRequirement> = {}): PaymentRequirement {
  return {
    ...evmRequirement({ asset: X_LAYER_USDT0, amount: 10_000n, payTo: EVM_PAY_TO }),
    ...changes,
  }
}

export type EvmPayloadJson = { authorization: Record<string, string>; signature: string }

/** An honest payload for a requirement, signed by our own client at the stand-in's start. */
export async function payCent(
  requirement: PaymentRequirement = centRequirement(),
  nowSeconds = EVM_NOW_SECONDS,
): Promise<EvmPayloadJson> {
  const client = new ExactEvmClient({
    signer: evmPayer,
    clock: { unixMs: () => nowSeconds * 1_000 },
  })
  const wanted = { ...requirement, network: 'eip155:196', extra: { ...requirement.extra } } as const
  const { payload } = await client.createPaymentPayload(2, wanted)
  return payload
}

/** The events of an honest settlement. */
export function settlementEvents(payment: VerifiedPayment) {
  const { amount: value, asset, payer, payTo } = payment
  return [
    { kind: 'used', key: payment },
    { kind: 'transfer', asset: asset as Hex, from: payer as Hex, to: payTo as Hex, value },
  ] as const
}
