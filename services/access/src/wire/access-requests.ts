/** Callers send these. */
import { z } from 'zod'

/** The reference shows nobody's address for `agent`. */
export const agentExample = '0xaa00000000000000000000000000000000000000'

/** `agent`: 0x and forty hex digits; its EIP-55 checksum is not checked. Lower case from here on. */
export const agentQuery = z.object({
  agent: z
    .string()
    .regex(/^0x[a-fA-F0-9]{40}$/, 'an EVM address: 0x and 40 hex digits')
    .toLowerCase()
    .meta({
      description:
        'The agent: an EVM address. Whoever holds the subscription, not necessarily who pays.',
      examples: [agentExample],
    }) as z.ZodType<`0x${string}`, string>,
})

/** A paying client and a guarded agent send these; other headers are left alone. */
export const accessHeaders = z.looseObject({
  'payment-signature': z
    .string()
    .optional()
    .describe('x402 version 2 payment payload, base64 JSON, on the retry after a 402.'),
  'x-payment': z.string().optional().describe('The same, for clients that use this name.'),
  'sign-in-with-x': z
    .string()
    .optional()
    .describe(
      'Proof of a guarded agent’s key, base64 JSON, on the retry after a 402 without `accepts`.',
    ),
})
