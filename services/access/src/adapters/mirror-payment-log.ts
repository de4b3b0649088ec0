import {
  type AccountDirectory,
  type LedgerTransfer,
  longZeroAddress,
  type MirrorNode,
  parseTransactionId,
  refundOfMemo,
  VALID_DURATION_SECONDS_MAX,
} from '@tallystick/x402/hedera'
import type { Hex } from '../domain/access-window.ts'
import type { PaymentLog, PayToCredit } from '../domain/payment-log.ts'

/** payTo's transfers through a mirror node. Which of them are purchases is decided in domain/unresolved-credits.ts. */
export function createMirrorPaymentLog(options: {
  readonly mirror: MirrorNode
  readonly accounts: AccountDirectory
  /** `0.0.x`. */
  readonly payTo: string
}): PaymentLog {
  const { mirror, accounts, payTo: accountId } = options
  const readEvmAddress = async (account: string): Promise<Hex> =>
    (await accounts.account(account))?.evmAddress ?? longZeroAddress(account)
  return {
    async *creditsAfter(afterTimestamp) {
      const wanted = { accountId, direction: 'credit', afterTimestamp } as const
      for await (const transfer of mirror.transfers(wanted)) yield toCredit(transfer)
    },
    async *debitsAfter(afterTimestamp) {
      const wanted = { accountId, direction: 'debit', afterTimestamp } as const
      for await (const { consensusTimestamp, memo } of mirror.transfers(wanted))
        yield { consensusTimestamp, refundedPayment: refundOfMemo(memo) }
    },
    async *forwardsAfter(afterTimestamp) {
      const kind = 'ETHEREUMTRANSACTION'
      const wanted = { accountId, direction: 'debit', afterTimestamp, kind } as const
      for await (const { consensusTimestamp, counterparties } of mirror.transfers(wanted))
        yield {
          consensusTimestamp,
          receivers: counterparties
            .map((counterparty) => counterparty.accountId)
            .filter(isNoSystemAccount),
        }
    },
    async findContractAddress(contract) {
      const address = await readEvmAddress(contract)
      return (await mirror.contractCreated(address)) === undefined ? undefined : address
    },
    ledgerTime: () => mirror.ledgerTime(),
    readEvmAddress,
  }
}

/** Fees go to accounts of the network and its nodes, whose numbers are the first thousand. */
function isNoSystemAccount(accountId: string): boolean {
  return Number(accountId.split('.').at(-1)) > 1_000
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
 * A scheduled transfer and a child keep the valid start of their origin, which may be weeks ago. So a credit counts as no
 * older than a payment's lifetime (A4).
 */
function paidAtSeconds({ consensusSeconds, transactionId }: LedgerTransfer): number {
  const validStart = Number(parseTransactionId(transactionId)?.validStartSeconds ?? 0n)
  return Math.max(validStart, consensusSeconds - VALID_DURATION_SECONDS_MAX)
}
