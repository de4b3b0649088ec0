/** Payments forged in any way, verified against the stand-in's ledger, for the tests of the Hedera rules. */
import type { PaymentRequirement } from '../payment.ts'
import { longZeroAddress } from '../schemes/hedera/account-id.ts'
import type { HederaSigner } from '../schemes/hedera/exact-hedera-client.ts'
import type { HederaKey } from '../schemes/hedera/hedera-key.ts'
import { hederaSigner } from '../schemes/hedera/hedera-signer.ts'
import type { LedgerAccount } from '../schemes/hedera/mirror-node.ts'
import { verifyHederaPayment } from '../schemes/hedera/verify-hedera-payment.ts'
import type { Verification } from '../schemes/payment-scheme.ts'
import { type BodyJson, type Forgery, forgeTransfer } from './forged-transfer.fixture.ts'
import {
  HederaStandIn,
  PAYER,
  PAYER_KEY,
  START_MS,
  standInTerms,
} from './hedera-stand-in.fixture.ts'

export const NOW_SECONDS = START_MS / 1_000
export const payer = hederaSigner({ accountId: PAYER, privateKey: PAYER_KEY })
export const edPayer = hederaSigner({
  accountId: PAYER,
  privateKey: '33'.repeat(32),
  keyKind: 'ed25519',
})
export const stranger = hederaSigner({ accountId: '0.0.66', privateKey: '66'.repeat(32) })
export const at = (name: string): string => `invalid_exact_hedera_payload_${name}`

export function offer(changes: Partial<PaymentRequirement> = {}): PaymentRequirement {
  const [requirement] = standInTerms().requirements
  if (requirement === undefined) throw new Error('no requirement')
  return { ...requirement, ...changes }
}

type Check = {
  readonly ledger?: HederaStandIn
  readonly requirement?: PaymentRequirement
  readonly nowSeconds?: number
}

export async function verifyBytes(bytes: Uint8Array, check: Check = {}): Promise<Verification> {
  const { ledger = new HederaStandIn(), nowSeconds = NOW_SECONDS, requirement = offer() } = check
  const payload = { transaction: Buffer.from(bytes).toString('base64') }
  return await verifyHederaPayment(payload, requirement, { accounts: ledger.directory, nowSeconds })
}

export async function verify(forgery: Partial<Forgery>, check: Check = {}): Promise<Verification> {
  return await verifyBytes(await forgeTransfer({ signers: [payer], ...forgery }), check)
}

export async function refusalReason(forgery: Partial<Forgery>, check: Check = {}): Promise<string> {
  const verification = await verify(forgery, check)
  return verification.kind === 'refused' ? verification.reason : verification.kind
}

export function withLines(lines: readonly BodyJson[]): (body: BodyJson) => BodyJson {
  return (body) => ({ ...body, cryptoTransfer: { transfers: { accountAmounts: lines } } })
}

export function ledgerWith(account: Partial<LedgerAccount>, accountId = PAYER): HederaStandIn {
  const ledger = new HederaStandIn()
  const evmAddress = longZeroAddress(accountId)
  ledger.accounts.set(accountId, { accountId, evmAddress, key: null, isDeleted: false, ...account })
  return ledger
}

export const hederaKey = ({ keyKind: kind, publicKey }: HederaSigner): HederaKey => ({
  kind,
  publicKey,
})
