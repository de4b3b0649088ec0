import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatCheckpoint } from './checkpoint.ts'
import { createCosigner, openCosignature } from './cosignature.ts'
import { consistencyProof } from './merkle-proof.ts'
import { leafHash, rootOf, type TreeHead } from './merkle-tree.ts'
import { createNoteSigner } from './signed-note.ts'
import { formatWitnessRequest, judgeWitnessRequest, readCosignatures } from './witness.ts'

const ORIGIN = 'care.example.org/user'
const signer = createNoteSigner({ keyName: ORIGIN, seed: Buffer.alloc(32, 7) })
const witness = createCosigner({ keyName: 'witness.example', seed: Buffer.alloc(32, 9) })

type Journal = readonly Uint8Array[]
const journalOf = (entries: readonly string[]): Journal =>
  entries.map((entry) => leafHash(Buffer.from(entry)))
const journal = journalOf(Array.from({ length: 12 }, (_, at) => `entry ${at}`))
const hex = ({ rootHash }: TreeHead): string => Buffer.from(rootHash).toString('hex')
/** The same first entries, and then others. */
const forkedAt = (size: number): Journal => [
  ...journal.slice(0, size),
  ...journalOf(Array.from({ length: 12 - size }, (_, at) => `other ${at}`)),
]
const headOf = (leaves: Journal, size: number): TreeHead => ({
  size,
  rootHash: rootOf(leaves.slice(0, size)),
})
const noteOf = (leaves: Journal, size: number): string =>
  signer.sign(formatCheckpoint({ origin: ORIGIN, ...headOf(leaves, size) }))
const proofOf = (leaves: Journal, oldSize: number, size: number): readonly Uint8Array[] =>
  oldSize < 1 || oldSize > size
    ? []
    : consistencyProof({ oldSize, size, leafHashes: ({ from, to }) => leaves.slice(from, to) })
const requestOf = (leaves: Journal, oldSize: number, size: number): string =>
  formatWitnessRequest({
    oldSize,
    proof: proofOf(leaves, oldSize, size),
    note: noteOf(leaves, size),
  })

const judge = (body: string, head?: TreeHead) =>
  judgeWitnessRequest({
    body,
    lastSeen: (origin) =>
      origin === ORIGIN ? { verifierKey: signer.verifierKey, head } : undefined,
  })

describe('what a witness decides', () => {
  test('the request is the protocol’s: old size, proof, blank line, checkpoint', () => {
    const lines = requestOf(journal, 3, 7).split('\n')
    expect(lines[0]).toBe('old 3')
    expect(lines.indexOf('')).toBe(1 + proofOf(journal, 3, 7).length)
    expect(lines.slice(lines.indexOf('') + 1).join('\n')).toBe(noteOf(journal, 7))
  })

  test('every step of one journal is consistent, the first and a repeated one included', () => {
    for (let oldSize = 0; oldSize <= 12; oldSize += 1)
      for (let size = oldSize; size <= 12; size += 1) {
        const seen = oldSize === 0 ? undefined : headOf(journal, oldSize)
        expect(judge(requestOf(journal, oldSize, size), seen)).toEqual({
          kind: 'consistent',
          origin: ORIGIN,
          head: headOf(journal, size),
          text: formatCheckpoint({ origin: ORIGIN, ...headOf(journal, size) }),
        })
      }
  })

  test('a forked journal is refused, whatever proof it brings', () => {
    for (let size = 6; size <= 12; size += 1)
      for (const proof of [proofOf(forkedAt(3), 5, size), proofOf(journal, 5, size), []]) {
        const body = formatWitnessRequest({ oldSize: 5, proof, note: noteOf(forkedAt(3), size) })
        expect(judge(body, headOf(journal, 5))).toEqual({ kind: 'inconsistent' })
      }
  })

  test('a journal that was rolled back is refused: the witness answers what it saw last', () => {
    const seen = headOf(journal, 9)
    for (const oldSize of [0, 4, 8])
      expect(judge(requestOf(journal, oldSize, 8), seen)).toEqual({ kind: 'conflict', size: 9 })
    expect(judge(requestOf(journal, 9, 9), seen)).toMatchObject({ kind: 'consistent' })
    expect(judge(requestOf(forkedAt(3), 9, 9), seen)).toEqual({ kind: 'conflict', size: 9 })
    const backwards = formatWitnessRequest({ oldSize: 9, proof: [], note: noteOf(journal, 8) })
    expect(judge(backwards, seen)).toEqual({ kind: 'malformed' })
  })

  test('an empty journal has the empty root and no other', () => {
    expect(judge(requestOf(journal, 0, 0))).toMatchObject({ kind: 'consistent' })
    const text = formatCheckpoint({ origin: ORIGIN, size: 0, rootHash: Buffer.alloc(32, 1) })
    const body = formatWitnessRequest({ oldSize: 0, proof: [], note: signer.sign(text) })
    expect(judge(body)).toEqual({ kind: 'inconsistent' })
  })

  test('an unknown origin, and a signature by another key', () => {
    const stranger = createNoteSigner({ keyName: 'other.example', seed: Buffer.alloc(32, 8) })
    const other = stranger.sign(
      formatCheckpoint({ origin: 'other.example', ...headOf(journal, 2) }),
    )
    expect(judge(`old 0\n\n${other}`)).toEqual({ kind: 'unknown_origin' })
    const forged = stranger.sign(formatCheckpoint({ origin: ORIGIN, ...headOf(journal, 2) }))
    expect(judge(`old 0\n\n${forged}`)).toEqual({ kind: 'unsigned' })
    const unsigned = noteOf(journal, 2).replace('\n2\n', '\n3\n')
    expect(judge(`old 0\n\n${unsigned}`)).toEqual({ kind: 'unsigned' })
  })

  test.each([
    ['nothing', ''],
    ['no old size', `\n${noteOf(journal, 2)}`],
    ['a leading zero', `old 00\n\n${noteOf(journal, 2)}`],
    ['an old size beyond whole numbers', `old 9007199254740993\n\n${noteOf(journal, 2)}`],
    ['a hash that is none', `old 1\nAAAA\n\n${noteOf(journal, 2)}`],
    ['64 hashes', `old 1\n${`${'A'.repeat(43)}=\n`.repeat(64)}\n${noteOf(journal, 2)}`],
    ['no note', `old 0\n\n${ORIGIN}\n`],
  ])('malformed: %s', (_, body) => {
    expect(judge(body)).toEqual({ kind: 'malformed' })
  })

  test('random texts never throw and are never consistent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (body) => {
        expect(judge(body).kind).not.toBe('consistent')
        expect(judge(`old 0\n\n${ORIGIN}\n${body}`).kind).not.toBe('consistent')
      }),
    )
  })

  test('however an honest and two forked journals ask, all that is cosigned lies on one journal', () => {
    const journals = [journal, forkedAt(2), forkedAt(7)]
    const ask = fc.record({
      which: fc.nat(2),
      proofOfWhich: fc.nat(2),
      oldSize: fc.option(fc.nat(12), { nil: undefined }),
      size: fc.nat(12),
    })
    fc.assert(
      fc.property(fc.array(ask, { maxLength: 40 }), (asks) => {
        let seen: TreeHead | undefined
        const cosigned: TreeHead[] = []
        for (const { which, proofOfWhich, oldSize: asked, size } of asks) {
          const oldSize = asked ?? seen?.size ?? 0
          const proof = proofOf(journals[proofOfWhich] ?? journal, oldSize, size)
          const note = noteOf(journals[which] ?? journal, size)
          const verdict = judge(formatWitnessRequest({ oldSize, proof, note }), seen)
          if (verdict.kind !== 'consistent') continue
          seen = verdict.head
          cosigned.push(verdict.head)
        }
        const lies = (leaves: Journal) =>
          cosigned.every((head) => hex(head) === hex(headOf(leaves, head.size)))
        expect(journals.some(lies)).toBe(true)
        const sizes = cosigned.map(({ size }) => size)
        expect(sizes).toEqual(sizes.toSorted((one, other) => one - other))
      }),
    )
  })
})

describe('what a journal keeps of an answer', () => {
  const note = noteOf(journal, 5)
  const text = note.slice(0, note.indexOf('\n\n') + 1)
  const line = witness.cosign({ text, atSeconds: 1_000 })
  const { verifierKey } = witness

  test('the witness’s lines over this checkpoint, beside which both signatures open', () => {
    const stranger = createCosigner({ keyName: 'stranger.example', seed: Buffer.alloc(32, 3) })
    const answer = stranger.cosign({ text, atSeconds: 1 }) + line
    const kept = readCosignatures({ note, answer, verifierKey })
    expect(kept).toEqual({ lines: line, atSeconds: 1_000 })
    const opened = openCosignature({ note: note + (kept?.lines ?? ''), verifierKey })
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
