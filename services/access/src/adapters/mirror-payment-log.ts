import {
  type AccountDirectory,
  type LedgerTransfer,
  longZeroAddress,
  type MirrorNode,
  parseTransactionId,
  refundOfMemo,
} from '@tallystick/x402/hedera'
import { MirrorUnavailable, type PaymentLog, type PayToCredit } from '../domain/ports.ts'

export type MirrorPaymentLogOptions = {
  readonly mirror: MirrorNode
  readonly accounts: AccountDirectory
  /** `0.0.x`. */
  readonly payTo: string
}

/** payTo's transfers through a mirror node. Which of them are purchases is decided in domain/credit-sweep.ts. */
export function createMirrorPaymentLog(options: MirrorPaymentLogOptions): PaymentLog {
  const { mirror, accounts, payTo } = options
  return {
    creditsAfter: (afterTimestamp) =>
      mapped(mirror.credits({ accountId: payTo, afterTimestamp }), toCredit),
    debitsAfter: (afterTimestamp) =>
      mapped(mirror.debits({ accountId: payTo, afterTimestamp }), (transfer) => ({
        consensusTimestamp: transfer.consensusTimestamp,
        refundOf: refundOfMemo(transfer.memo),
      })),
    latestConsensusSeconds: () => named(() => mirror.latestConsensusSeconds()),
    evmAddressOf: (accountId) =>
      named(async () => {
        const account = await accounts.account(accountId)
        return account?.evmAddress ?? longZeroAddress(accountId)
      }),
  }
}

function toCredit(transfer: LedgerTransfer): PayToCredit {
  const [payer, ...others] = transfer.counterparties
  const isOnePayer = others.length === 0 && payer?.amountTinybar === transfer.amountTinybar
  return {
    transactionId: transfer.transactionId,
    paymentReference: transfer.reference.hash,
    paidAtSeconds: Number(parseTransactionId(transfer.transactionId)?.validStartSeconds ?? 0n),
    consensusTimestamp: transfer.consensusTimestamp,
    consensusSeconds: transfer.consensusSeconds,
    memo: transfer.memo,
    amountTinybar: transfer.amountTinybar,
    payer: isOnePayer ? payer.accountId : undefined,
  }
}

async function* mapped<From, To>(
  source: AsyncIterable<From>,
  map: (item: From) => To,
): AsyncGenerator<To> {
  try {
    for await (const item of source) yield map(item)
  } catch (error) {
    throw unavailable(error)
  }
}

async function named<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    throw unavailable(error)
  }
}

const unavailable = (cause: unknown): MirrorUnavailable =>
  new MirrorUnavailable('the mirror node could not be read', { cause })
