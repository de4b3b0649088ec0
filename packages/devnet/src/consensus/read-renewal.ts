import type { proto } from '@hiero-ledger/proto'
import type { Signatures } from '../ledger/account-key.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type Status, toBigInt } from '../ledger/signed-transaction.ts'
import type { Renewal } from '../ledger/token.ts'
import { hasSigned } from './precheck-transaction.ts'
import { findLivingAccount } from './resolve-account.ts'

/** The network's default: 90 days. */
const RENEWAL_SECONDS = 7_776_000

/** Who renews what is created, and for how long, or why consensus refuses it: whoever pays signs. */
export function readRenewal(
  ledger: Pick<Ledger, 'accounts'>,
  message: { autoRenewAccount?: proto.IAccountID | null; autoRenewPeriod?: proto.IDuration | null },
  signed: Signatures,
): Renewal | Status {
  const { autoRenewAccount: id, autoRenewPeriod: period } = message
  const account = id == null ? null : findLivingAccount(ledger.accounts, id)
  if (account === undefined) return 'INVALID_AUTORENEW_ACCOUNT'
  if (account !== null && !hasSigned(account, signed)) return 'INVALID_SIGNATURE'
  return { account, periodSeconds: Number(toBigInt(period?.seconds)) || RENEWAL_SECONDS }
}
