import { describe, expect, test } from 'vitest'
import { createNoteSigner, formatCheckpoint } from './checkpoint.ts'
import { openCosignature } from './cosignature.ts'
import { consistencyProof } from './merkle-proof.ts'
import { computeRoot, leafHash } from './merkle-tree.ts'
import { createCosigner } from './testing/cosigner.ts'
import { formatWitnessRequest, readCosignatures } from './witness.ts'

const ORIGIN = 'care.example.org/user'
const signer = createNoteSigner({ keyName: ORIGIN, seed: Buffer.alloc(32, 7) })
const witness = createCosigner({ keyName: 'witness.example', seed: Buffer.alloc(32, 9) })
const journal = Array.from({ length: 12 }, (_, at) => leafHash(`entry ${at}`))
const makeNote = (size: number): string =>
  signer.sign(
    formatCheckpoint({ origin: ORIGIN, size, rootHash: computeRoot(journal.slice(0, size)) }),
  )

describe('what a journal sends', () => {
  const proof = consistencyProof({
    oldSize: 3,
    size: 7,
    leafHashes: ({ from, to }) => journal.slice(from, to),
  })

  test('the request is the protocol’s: old size, proof, blank line, checkpoint', () => {
    const lines = formatWitnessRequest({ oldSize: 3, proof, note: makeNote(7) }).split('\n')
    expect(lines[0]).toBe('old 3')
    expect(lines.slice(1, 1 + proof.length)).toEqual(
      proof.map((hash) => Buffer.from(hash).toString('base64')),
    )
    expect(lines[1 + proof.length]).toBe('')
    expect(lines.slice(2 + proof.length).join('\n')).toBe(makeNote(7))
  })

  test('no request has an old size that is not a whole number, or more than 63 hashes', () => {
    const note = makeNote(7)
    for (const oldSize of [-1, 0.5, Number.NaN])
      expect(() => formatWitnessRequest({ oldSize, proof: [], note })).toThrow(RangeError)
    const long = Array.from({ length: 64 }, () => Buffer.alloc(32))
    expect(() => formatWitnessRequest({ oldSize: 1, proof: long, note })).toThrow(RangeError)
  })
})

describe('what a journal keeps of an answer', () => {
  const note = makeNote(5)
  const text = note.slice(0, note.indexOf('\n\n') + 1)
  const line = witness.cosign({ text, atSeconds: 1_000 })
  const { verifierKey } = witness

  test('the witness’s lines over this checkpoint, beside which both signatures open', () => {
    const stranger = createCosigner({ keyName: 'stranger.example', seed: Buffer.alloc(32, 3) })
    const answer = stranger.cosign({ text, atSeconds: 1 }) + line
    const cosigned = readCosignatures({ note, answer, verifierKey })
    expect(cosigned).toEqual({ lines: line, atSeconds: 1_000 })
    const opened = openCosignature({ note: note + (cosigned?.lines ?? ''), verifierKey })
    expect(opened).toMatchObject({ kind: 'opened' })
  })

  test.each([
    ['nothing', ''],
    ['another witness’s line', line.replaceAll('witness.example', 'stranger.example')],
    ['a line over another checkpoint', witness.cosign({ text: 'x\n', atSeconds: 1 })],
    ['a page', '<html>\n'],
    ['a good and a bad line', line + witness.cosign({ text: 'x\n', atSeconds: 1 })],
  ])('nothing of an answer that holds %s', (_, answer) => {
    expect(readCosignatures({ note, answer, verifierKey })).toBeUndefined()
  })
})
