import { describe, expect, test } from 'vitest'
import vectors from '../vectors/cosignature.json' with { type: 'json' }
import { createNoteSigner, openNote } from './checkpoint.ts'
import { isCosignatureKey, openCosignature } from './cosignature.ts'
import { byteFlips } from './testing/byte-flips.ts'
import { createCosigner } from './testing/cosigner.ts'

const text = 'care.example.org/user\n3\nroot\n'
const witness = createCosigner({ keyName: 'witness.example', seed: Buffer.alloc(32, 9) })
const { verifierKey } = witness
const cosigned = (atSeconds: number): string => `${text}\n${witness.cosign({ text, atSeconds })}`
const refused = (reason: string) => ({ kind: 'refused', reason })

describe('C2SP cosignature/v1', () => {
  test.each(vectors.cosignatures)(
    'golden vector $keyName: made byte for byte, opened',
    (vector) => {
      const { keyName, text: signed, atSeconds, line } = vector
      const own = createCosigner({ keyName, seed: Buffer.from(vector.seed, 'base64') })
      expect(own.verifierKey).toBe(vector.verifierKey)
      expect(own.cosign({ text: signed, atSeconds })).toBe(line)
      const opened = openCosignature({ note: `${signed}\n${line}`, verifierKey: own.verifierKey })
      expect(opened).toEqual({ kind: 'opened', text: signed, atSeconds })
    },
  )

  test('a checkpoint of a public log opens under its own key and each of its witnesses’', () => {
    const { note, text: signed, atSeconds, logKey, witnessKeys } = vectors.public
    expect(openNote({ note, verifierKey: logKey })).toEqual({ kind: 'opened', text: signed })
    for (const key of witnessKeys)
      expect(openCosignature({ note, verifierKey: key })).toEqual({
        kind: 'opened',
        text: signed,
        atSeconds,
      })
    const altered = note.replace('1432088532', '1432088533')
    for (const key of witnessKeys)
      expect(openCosignature({ note: altered, verifierKey: key })).toEqual(refused('bad_signature'))
  })

  test('of several cosignatures by one witness the latest time counts', () => {
    const both = cosigned(200) + witness.cosign({ text, atSeconds: 100 })
    expect(openCosignature({ note: both, verifierKey })).toMatchObject({ atSeconds: 200 })
  })

  test('no cosignature opens after a byte of the note was flipped, its time included', () => {
    const note = cosigned(1_795_392_000)
    for (const { flipped } of byteFlips(Buffer.from(note)))
      expect(openCosignature({ note: Buffer.from(flipped).toString(), verifierKey }).kind).toBe(
        'refused',
      )
    const blob = Buffer.from(note.trimEnd().split(' ').at(-1) ?? '', 'base64')
    for (const { flipped } of byteFlips(blob)) {
      const altered = note.replace(blob.toString('base64'), Buffer.from(flipped).toString('base64'))
      expect(openCosignature({ note: altered, verifierKey }).kind).toBe('refused')
    }
  })

  test('a signature is none of the other type, under the same key and name', () => {
    const { keyName } = witness
    const signer = createNoteSigner({ keyName, seed: Buffer.alloc(32, 9) })
    const signed = signer.sign(text)
    expect(openCosignature({ note: signed, verifierKey })).toEqual(refused('unknown_key'))
    expect(openNote({ note: cosigned(1), verifierKey: signer.verifierKey })).toEqual(
      refused('unknown_key'),
    )
    expect(openCosignature({ note: signed, verifierKey: signer.verifierKey })).toEqual(
      refused('malformed_key'),
    )
  })

  test('a witness’s key is told from a journal’s, and from anything else', () => {
    const { keyName } = witness
    const signer = createNoteSigner({ keyName, seed: Buffer.alloc(32, 9) })
    expect(isCosignatureKey(verifierKey)).toBe(true)
    for (const other of [signer.verifierKey, `${verifierKey}A`, verifierKey.slice(1), 'x', ''])
      expect(isCosignatureKey(other)).toBe(false)
  })

  test('a cosignature cut short: bad_signature', () => {
    const blob = cosigned(1).trimEnd().split(' ').at(-1) ?? ''
    const short = Buffer.from(blob, 'base64').subarray(0, 70).toString('base64')
    const note = cosigned(1).replace(blob, short)
    expect(openCosignature({ note, verifierKey })).toEqual(refused('bad_signature'))
  })
})
