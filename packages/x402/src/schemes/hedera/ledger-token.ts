/** Tokens and who holds them, from a mirror node, as far as payments need them; judge-token-payment.ts says what that means. */
import { z } from 'zod'
import { nextPath, unitsSchema } from './ledger-record.ts'

const feeSchema = z.object({ collector_account_id: z.string().nullish() })

/** A token: what it is, and the fees that its transfers cost. */
export const tokenSchema = z
  .object({
    token_id: z.string(),
    type: z.string(),
    decimals: z.coerce.number().pipe(z.int()),
    deleted: z.boolean().nullish(),
    pause_status: z.string().nullish(),
    treasury_account_id: z.string().nullish(),
    freeze_default: z.boolean().nullish(),
    kyc_key: z.unknown().optional(),
    custom_fees: z
      .object({
        fixed_fees: z
          .array(feeSchema.extend({ denominating_token_id: z.string().nullish() }))
          .nullish(),
        fractional_fees: z
          .array(feeSchema.extend({ net_of_transfers: z.boolean().nullish() }))
          .nullish(),
      })
      .nullish(),
  })
  .transform((json) => ({
    tokenId: json.token_id,
    isFungible: json.type === 'FUNGIBLE_COMMON',
    decimals: json.decimals,
    isDeleted: json.deleted ?? false,
    isPaused: json.pause_status === 'PAUSED',
    treasury: json.treasury_account_id ?? undefined,
    /** Nobody takes it unasked: its issuer has to agree to each holder. */
    needsGrant: json.freeze_default === true || (json.kyc_key ?? null) !== null,
    fixedFees: json.custom_fees?.fixed_fees ?? [],
    fractionalFees: json.custom_fees?.fractional_fees ?? [],
  }))

export type LedgerToken = Readonly<z.output<typeof tokenSchema>>

export const holdingsSchema = z.object({
  tokens: z.array(
    z
      .object({
        token_id: z.string(),
        balance: unitsSchema,
        automatic_association: z.boolean().nullish(),
        freeze_status: z.string().nullish(),
        kyc_status: z.string().nullish(),
      })
      .transform((json) => ({
        tokenId: json.token_id,
        balance: json.balance,
        isAutomatic: json.automatic_association ?? false,
        /** Frozen, or without the token's KYC: it neither gives nor takes. */
        isFrozen: json.freeze_status === 'FROZEN' || json.kyc_status === 'REVOKED',
      })),
  ),
  links: z.object({ next: nextPath }).nullish(),
})

/** What an account holds of a token that it is associated with. */
export type TokenHolding = Readonly<z.output<typeof holdingsSchema>['tokens'][number]>
