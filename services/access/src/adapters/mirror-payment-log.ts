import {
  type AccountDirectory,
  type LedgerTransfer,
  longZeroAddress,
  type MirrorNode,
  parseTransactionId,
  refundOfMemo,
  VALID_DURATION_SECONDS_MAX,
} from '@tallystick/x402/hedera'
import type { PaymentLog, PayToCredit } from '../domain/ports.ts'

/** payTo's transfers through a mirror node. Which of them are purchases is decided in domain/unresolved-credits.ts. */
export function createMirrorPaymentLog(options: {
  readonly mirror: MirrorNode
  readonly accounts: AccountDirectory
  /** `0.0.x`. */
  readonly payTo: string
}): PaymentLog {
  const { mirror, accounts, payTo: accountId } = options
  return {
    async *creditsAfter(afterTimestamp) {
      const wanted = { accountId, direction: 'credit', afterTimestamp } as const
      for await (const transfer of mirror.transfers(wanted)) yield toCredit(transfer)
    },
    async *debitsAfter(afterTimestamp) {
      const wanted = { accountId, direction: 'debit', afterTimestamp } as const
      for await (const { consensusTimestamp, memo } of mirror.transfers(wanted))
        yield { consensusTimestamp, refundOf: refundOfMemo(memo) }
    },
    latestConsensusSeconds: () => mirror.latestConsensusSeconds(),
    async evmAddressOf(payer) {
      const account = await accounts.account(payer)
      return account?.evmAddress ?? longZeroAddress(payer)
    },
  }
}

function toCredit(transfer: LedgerTransfer): PayToCredit {
  const [payer, ...others] = transfer.counterparties
  const isOnePayer = others.length === 0 && payer?.amountTinybar === transfer.amountTinybar
  return {
    transactionId: transfer.transactionId,
    paymentReference: transfer.reference.hash,
    paidAtSeconds: paidAtSeconds(transfer),
    consensusTimestamp: transfer.consensusTimestamp,
    consensusSeconds: transfer.consensusSeconds,
    memo: transfer.memo,
    amountTinybar: transfer.amountTinybar,
    payer: isOnePayer ? payer.accountId : undefined,
  }
}

/**
 * A scheduled transfer, and a child, keep the start of what they came from, weeks ago: a credit is no older than a payment
 * lives (A4).
 */
function paidAtSeconds({ consensusSeconds, transactionId }: LedgerTransfer): number {
  const validStart = Number(parseTransactionId(transactionId)?.validStartSeconds ?? 0n)
  return Math.max(validStart, consensusSeconds - VALID_DURATION_SECONDS_MAX)
}
