import { createSecretKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { manualClock } from '@tallystick/service-kit'
import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createSignatureCheck } from './write-route.ts'

const vector = z.object({
  name: z.string(),
  secret: z.string(),
  timestamp: z.string(),
  body: z.string(),
  signature: z.string(),
})
const file = new URL('../../vectors/write-signature.json', import.meta.url)
const { vectors } = z
  .object({ vectors: z.array(vector) })
  .parse(JSON.parse(readFileSync(file, 'utf8')))

const NOW_MS = Date.parse('2026-11-21T12:00:00.000Z')
const clock = manualClock(NOW_MS)
const bytes = (text: string) => new TextEncoder().encode(text)

describe('HMAC-SHA256 over the bytes <timestamp>.<raw body>', () => {
  test.each(vectors.map((each) => [each.name, each] as const))('%s', (_, each) => {
    const verify = createSignatureCheck({ keys: [createSecretKey(bytes(each.secret))], clock })
    const { timestamp, signature } = each
    const signed = { kind: 'signed', mac: signature, expiresAtMs: NOW_MS + 300_000 }
    const body = bytes(each.body)
    expect(verify({ signature, timestamp, body })).toEqual(signed)
    expect(verify({ signature: `sha256=${signature}`, timestamp, body })).toEqual(signed)
  })

  const [first] = vectors
  if (first === undefined) throw new Error('there are no vectors')
  const verify = createSignatureCheck({ keys: [createSecretKey(bytes(first.secret))], clock })

  test('no other text is a signature, and no other byte has one', () => {
    const body = bytes(first.body)
    const { timestamp, signature } = first
    const refused = { kind: 'refused', reason: 'bad_signature' }
    for (const other of [
      signature.toUpperCase(),
      `SHA256=${signature}`,
      `sha256=sha256=${signature}`,
      `sha512=${signature}`,
      ` ${signature}`,
      `${signature}0`,
      signature.slice(0, -1),
      Buffer.from(signature, 'hex').toString('base64'),
      '',
    ])
      expect(verify({ signature: other, timestamp, body })).toEqual(refused)
    expect(verify({ signature, timestamp: '2026-11-21T12:00:00Z', body })).toEqual(refused)
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = Uint8Array.from(body)
        changed[at] = (changed[at] ?? 0) ^ flip
        expect(verify({ signature, timestamp, body: changed })).toEqual(refused)
      }),
    )
  })

  test('any header text is judged without a throw', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter }),
        fc.option(fc.string({ unit: anyCharacter }), { nil: undefined }),
        (signature, timestamp) => {
          expect(verify({ signature, timestamp, body: bytes('') }).kind).toBe('refused')
        },
      ),
    )
  })
})
