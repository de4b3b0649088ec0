import { z } from 'zod'
import type { TransferAuthorization } from './authorization-digest.ts'
import { bytesOfHex, type Hex } from './evm-words.ts'

/** Longest signature looked at: wallets that are contracts sign with several keys or a passkey, under 2 KiB. */
export const SIGNATURE_BYTES_MAX = 2_048

const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .transform((text) => text.toLowerCase() as Hex)
const uint = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,77})$/)
  .transform(BigInt)
  .refine((value) => value < 1n << 256n)
const payload = z.strictObject({
  authorization: z.strictObject({
    from: address,
    to: address,
    value: uint,
    validAfter: uint,
    validBefore: uint,
    nonce: z
      .string()
      .regex(/^0x[0-9a-fA-F]{64}$/)
      .transform((text) => text.toLowerCase() as Hex),
  }),
  signature: z
    .string()
    .max(2 + 2 * SIGNATURE_BYTES_MAX)
    .regex(/^0x(?:[0-9a-fA-F]{2})+$/)
    .transform(bytesOfHex),
})

/** A payment as it came over the wire, parsed: addresses and nonce in lower case, the signature's bytes. */
export type EvmPayload = {
  readonly authorization: TransferAuthorization
  readonly signature: Uint8Array
}

/** Reads a scheme payload; undefined for every shape but `{authorization{six fields}, signature}`, decimals and hex strict. */
export function readEvmPayload(value: unknown): EvmPayload | undefined {
  return payload.safeParse(value).data
}
