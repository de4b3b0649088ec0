/** The parts of mirror node answers that we read (mirror REST API v1); everything else in them is ignored. */
import { z } from 'zod'

const timestamp = z.string().regex(/^\d{1,19}\.\d{1,9}$/)

/** Amounts in tinybar. JSON numbers: 5e18 tinybar of total supply exceed 2^53, a single transfer does not in practice. */
const tinybar = z.int().transform(BigInt)

export const accountSchema = z.object({
  account: z.string(),
  evm_address: z.string().nullish(),
  deleted: z.boolean().nullish(),
  key: z
    .object({ _type: z.string(), key: z.string() })
    .transform(({ _type: type, key }) => ({ type, hex: key }))
    .nullish(),
})

export const transactionSchema = z.object({
  transaction_id: z.string(),
  consensus_timestamp: timestamp.nullish(),
  charged_tx_fee: z.int().nullish(),
  memo_base64: z.string().nullish(),
  name: z.string(),
  nonce: z.int().nullish(),
  scheduled: z.boolean().nullish(),
  result: z.string(),
  transfers: z
    .array(
      z.object({
        account: z.string(),
        amount: tinybar,
        is_approval: z.boolean().nullish(),
      }),
    )
    .nullish(),
  staking_reward_transfers: z.array(z.object({ account: z.string(), amount: tinybar })).nullish(),
})

export const transactionsSchema = z.object({
  transactions: z.array(transactionSchema),
  links: z.object({ next: z.string().nullish() }).nullish(),
})

export const blocksSchema = z.object({
  blocks: z.array(z.object({ timestamp: z.object({ from: timestamp, to: timestamp.nullish() }) })),
})
