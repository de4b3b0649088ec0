/** What routes share: the payment headers, the challenge, and the issues of a malformed request. */
import { z } from 'zod'

/** What a paying client sends; other headers are not checked. */
export const paymentHeaders = z.looseObject({
  'payment-signature': z
    .string()
    .optional()
    .describe('x402 version 2 payment payload, base64 JSON, on the retry after a 402.'),
  'x-payment': z.string().optional().describe('The same, for clients that use this name.'),
  'idempotency-key': z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe('Yours, 1 to 255 visible ASCII characters: the same key and body are charged once.'),
})

const signedOffer = z.object({
  format: z.literal('jws'),
  signature: z.string(),
  acceptIndex: z.int().describe('Its place in accepts.'),
})

export const paymentRequiredSchema = z
  .object({
    x402Version: z.int(),
    error: z.string(),
    omitted: z
      .array(z.string())
      .optional()
      .describe(
        'Extensions that were left out, since the answer’s head would be too long with them.',
      ),
    resource: z.object({
      url: z.string(),
      description: z.string(),
      mimeType: z.string(),
      serviceName: z.string().describe('For catalogues, as tags.'),
      tags: z.array(z.string()),
    }),
    accepts: z.array(
      z.object({
        scheme: z.literal('exact'),
        network: z.string(),
        amount: z.string().describe('Base units of the token.'),
        asset: z.string().describe('Address of the token.'),
        payTo: z.string(),
        maxTimeoutSeconds: z.int(),
        extra: z.record(z.string(), z.unknown()),
        price: z.object({ asset: z.string(), amount: z.string() }),
      }),
    ),
    extensions: z
      .object({
        bazaar: z
          .looseObject({ info: z.unknown(), schema: z.unknown() })
          .describe('How to call the resource, by example and by schema: x402’s discovery.'),
        'payment-identifier': z
          .object({ info: z.object({ required: z.boolean() }) })
          .describe('A client may name its request: the same name is charged once.'),
        'offer-receipt': z
          .object({ info: z.object({ offers: z.array(signedOffer) }) })
          .describe('What is offered, signed; the key is in /.well-known/did.json.'),
      })
      .describe('x402’s extensions.'),
  })
  .meta({
    id: 'PaymentRequired',
    description: 'No valid payment: the challenge, also base64 in PAYMENT-REQUIRED.',
  })

export const issuesSchema = z.array(z.object({ field: z.string(), expected: z.string() }))

export const issuesBody = z
  .looseObject({
    error: z.string().describe('Stable snake_case code.'),
    issues: issuesSchema.optional().describe('Each field at fault, and what was expected there.'),
  })
  .describe('The request is malformed; nothing was charged.')
