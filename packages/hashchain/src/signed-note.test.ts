import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/note.json' with { type: 'json' }
import { createNoteSigner, openNote } from './checkpoint.ts'
import { byteFlips } from './testing/byte-flips.ts'

const makeSeed = (byte: number): Buffer => Buffer.alloc(32, byte)
const signer = createNoteSigner({ keyName: 'care.example.org/user', seed: makeSeed(7) })
const { verifierKey } = signer
const note = signer.sign('origin\n3\nroot\n')
const signatureLine = (text: string): string => text.slice(text.lastIndexOf('\n\n') + 2)

describe('C2SP signed note', () => {
  test.each(vectors.notes)(
    'golden vector $keyName: opened, and signed again byte for byte',
    (vector) => {
      const { keyName } = vector
      const own = createNoteSigner({ keyName, seed: Buffer.from(vector.seed, 'base64') })
      expect(own.verifierKey).toBe(vector.verifierKey)
      expect(own.sign(vector.text)).toBe(vector.note)
      expect(openNote({ note: vector.note, verifierKey: vector.verifierKey })).toEqual({
        kind: 'opened',
        text: vector.text,
      })
    },
  )

  test('a signed text opens, whatever lines it has', () => {
    const line = fc
      .string({ unit: anyCharacter, maxLength: 20 })
      .filter((text) => !/\p{Cc}/u.test(text))
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 6 }), (lines) => {
        const text = `${lines.join('\n')}\n`
        expect(openNote({ note: signer.sign(text), verifierKey })).toEqual({ kind: 'opened', text })
      }),
    )
  })

  test('no note opens after a byte was flipped', () => {
    for (const { flipped } of byteFlips(Buffer.from(note)))
      expect(openNote({ note: Buffer.from(flipped).toString(), verifierKey }).kind).toBe('refused')
  })

  test('no note opens after a character was replaced', () => {
    for (let index = 0; index < note.length; index += 1)
      for (const character of ['A', 'z', '0', '/', '=', ' ', '\n']) {
        const altered = note.slice(0, index) + character + note.slice(index + 1)
        const kind = openNote({ note: altered, verifierKey }).kind
        expect(kind).toBe(altered === note ? 'opened' : 'refused')
      }
  })

  test('other signers’ lines are ignored, before and after ours', () => {
    const other = createNoteSigner({ keyName: 'witness.example', seed: makeSeed(9) })
    const otherLine = signatureLine(other.sign('origin\n3\nroot\n'))
    const both = [
      note + otherLine,
      note.replace(signatureLine(note), otherLine) + signatureLine(note),
    ]
    for (const cosigned of both) {
      expect(openNote({ note: cosigned, verifierKey }).kind).toBe('opened')
      expect(openNote({ note: cosigned, verifierKey: other.verifierKey }).kind).toBe('opened')
    }
  })

  test('a note not signed by this key: unknown_key, even under the same name', () => {
    const namesake = createNoteSigner({ keyName: signer.keyName, seed: makeSeed(8) })
    expect(openNote({ note, verifierKey: namesake.verifierKey })).toEqual({
      kind: 'refused',
      reason: 'unknown_key',
    })
  })

  test('a signature taken from another text: bad_signature, even beside a good one', () => {
    const stolen = signatureLine(signer.sign('origin\n4\nroot\n'))
    const refused = { kind: 'refused', reason: 'bad_signature' }
    expect(openNote({ note: `origin\n3\nroot\n\n${stolen}`, verifierKey })).toEqual(refused)
    expect(openNote({ note: note + stolen, verifierKey })).toEqual(refused)
  })

  test('a signature of the wrong length: bad_signature', () => {
    const [idAndSignature = ''] = note.trimEnd().split(' ').slice(-1)
    const short = Buffer.from(idAndSignature, 'base64').subarray(0, 40).toString('base64')
    expect(openNote({ note: note.replace(idAndSignature, short), verifierKey })).toEqual({
      kind: 'refused',
      reason: 'bad_signature',
    })
  })

  test.each([
    ['nothing', ''],
    ['no signature', 'origin\n3\nroot\n'],
    ['no blank line', note.replace('\n\n', '\n')],
    ['no last newline', note.slice(0, -1)],
    ['a hyphen for the dash', note.replace('\u2014', '-')],
    ['a carriage return', note.replace('\n', '\r\n')],
    ['a third word in the line', `${note.slice(0, -1)} x\n`],
    ['base64 without padding', note.replaceAll('=', '')],
    ['101 signatures', note + signatureLine(note).repeat(100)],
    ['over a million characters', `${'a'.repeat(1_000_000)}\n${note}`],
    ['a lone surrogate', `\ud800${note}`],
  ])('malformed_note: %s', (_, text) => {
    expect(openNote({ note: text, verifierKey })).toEqual({
      kind: 'refused',
      reason: 'malformed_note',
    })
  })

  test('malformed_key: every single change of a verifier key', () => {
    for (const { flipped } of byteFlips(Buffer.from(verifierKey))) {
      const altered = Buffer.from(flipped).toString('latin1')
      expect(openNote({ note, verifierKey: altered })).toEqual({
        kind: 'refused',
        reason: 'malformed_key',
      })
    }
    expect(openNote({ note, verifierKey: '' }).kind).toBe('refused')
    expect(openNote({ note, verifierKey: verifierKey.replace(/\+A/, '+B') }).kind).toBe('refused')
  })

  test('random texts never throw and never open', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter }),
        fc.string({ unit: anyCharacter }),
        (text, other) => {
          expect(openNote({ note: text, verifierKey }).kind).toBe('refused')
          expect(openNote({ note, verifierKey: other }).kind).toBe('refused')
          expect(openNote({ note: `${text}\n\n${signatureLine(note)}`, verifierKey }).kind).toBe(
            'refused',
          )
        },
      ),
    )
  })

  test.each(['', 'no newline', 'tab\there\n', 'cr\r\n', 'lone \ud800\n'])(
    'a text that no note can hold is not signed: %j',
    (text) => {
      expect(() => signer.sign(text)).toThrow(RangeError)
    },
  )

  test('a seed of the wrong length and a name with a plus sign or white space are refused', () => {
    expect(() => createNoteSigner({ keyName: 'a', seed: Buffer.alloc(31) })).toThrow(RangeError)
    for (const keyName of ['', 'a b', 'a+b', 'a\u00a0b', 'a\nb', '\ud800'])
      expect(() => createNoteSigner({ keyName, seed: makeSeed(1) })).toThrow(RangeError)
  })
})
