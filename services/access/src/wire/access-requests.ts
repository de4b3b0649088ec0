/** What callers send, and the challenge that a call without an open window is answered. */
import { z } from 'zod'

/** What the reference shows for `agent`: nobody's address. */
export const agentExample = '0x00000000000000000000000000000000000000aa'

/** `agent`: 0x and forty hex digits; its EIP-55 checksum is not checked. Lower case from here on. */
export const agentQuery = z.object({
  agent: z
    .string()
    .regex(/^0x[a-fA-F0-9]{40}$/, 'an EVM address: 0x and 40 hex digits')
    .meta({
      description:
        'The agent: an EVM address. Whoever holds the subscription, not necessarily who pays.',
      examples: [agentExample],
    })
    .transform((text) => text.toLowerCase() as `0x${string}`),
})

/** What a paying client sends; other headers are left alone. */
export const paymentHeaders = z.looseObject({
  'payment-signature': z
    .string()
    .optional()
    .describe('x402 version 2 payment payload, base64 JSON, on the retry after a 402.'),
  'x-payment': z.string().optional().describe('The same, for clients that use this name.'),
})

export const paymentRequiredSchema = z
  .object({
    x402Version: z.int(),
    error: z.string(),
    resource: z.object({ url: z.string(), description: z.string(), mimeType: z.string() }),
    accepts: z.array(
      z.object({
        scheme: z.literal('exact'),
        network: z.string(),
        amount: z.string(),
        asset: z.string(),
        payTo: z.string(),
        maxTimeoutSeconds: z.int(),
        extra: z.record(z.string(), z.unknown()),
        price: z.object({
          asset: z.string().describe('0.0.0 is HBAR.'),
          amount: z.string().describe('Tinybar for the whole purchase.'),
        }),
      }),
    ),
    extensions: z
      .object({ bazaar: z.looseObject({ info: z.unknown(), schema: z.unknown() }) })
      .describe('How the resource is called, by example and by schema: x402’s discovery.'),
  })
  .meta({
    id: 'PaymentRequired',
    description:
      'No open subscription and no valid payment: the challenge, also base64 in PAYMENT-REQUIRED.',
  })
