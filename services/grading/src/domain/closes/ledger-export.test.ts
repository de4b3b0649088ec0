import { describe, expect, test } from 'vitest'
import { openMemoryStore } from '../../testing/grader.fixture.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  scored,
} from '../../testing/samples.fixture.ts'
import { exportLines, verifyExport } from './ledger-export.ts'

/** The lines of an export with this many entries. */
async function exported(entries: number, seed = 7): Promise<readonly string[]> {
  const store = openMemoryStore(new Uint8Array(32).fill(seed))
  for (let index = 0; index < entries; index += 1) {
    const event = sampleEvent({ path: `soccer/match-${index}` })
    await store.ingest(sampleBatch([sampleObservation({ event, outcomes: scored(1, 0) })]))
  }
  const lines: string[] = []
  for await (const line of exportLines(store)) lines.push(line)
  return lines
}

async function* streamOf(lines: readonly string[]) {
  yield* lines
}

const findKey = (lines: readonly string[]): string => JSON.parse(lines.at(-1) ?? '').key

describe('an export', () => {
  test('is intact as written, under its own key or one that the reader knows', async () => {
    const lines = await exported(3)
    const key = findKey(lines)
    const intact = { kind: 'intact', entries: 3, origin: 'grading.test/ledger', verifierKey: key }
    expect(await verifyExport(streamOf(lines))).toEqual(intact)
    expect(await verifyExport(streamOf(lines), key)).toEqual(intact)
  })

  test('is intact if its ledger grows meanwhile', async () => {
    const store = openMemoryStore()
    const grow = async (path: string) => {
      const event = sampleEvent({ path })
      await store.ingest(sampleBatch([sampleObservation({ event, outcomes: scored(1, 0) })]))
    }
    await grow('soccer/before')
    const lines = exportLines({
      ...store,
      checkpoint: async () => {
        const signed = await store.checkpoint()
        await grow('soccer/meanwhile')
        return signed
      },
    })
    expect(await verifyExport(lines)).toMatchObject({ kind: 'intact', entries: 1 })
  })

  test('is broken under a key other than the one the reader knows', async () => {
    const known = findKey(await exported(1, 8))
    expect(await verifyExport(streamOf(await exported(3)), known)).toMatchObject({
      kind: 'broken',
      problem: 'the checkpoint is not signed by the key',
    })
  })

  test('is broken at entries after its checkpoint: nothing signs them', async () => {
    const [short, long] = [await exported(2), await exported(3)]
    const forged = [...short, ...long.slice(2)]
    expect(await verifyExport(streamOf(forged))).toEqual({
      kind: 'broken',
      seq: 2,
      problem: 'there is more after the checkpoint',
    })
  })

  test.each([
    { what: 'its checkpoint', cut: [3], problem: 'there is no checkpoint at the end' },
    { what: 'an entry', cut: [1], seq: 1, problem: 'the entry is gone' },
    { what: 'its last entry', cut: [2], seq: 2, problem: 'the checkpoint has 3 entries' },
  ])('is broken without $what', async ({ cut, problem, seq }) => {
    const lines = (await exported(3)).filter((_, index) => !cut.includes(index))
    expect(await verifyExport(streamOf(lines))).toEqual({
      kind: 'broken',
      problem,
      ...(seq === undefined ? {} : { seq }),
    })
  })

  test.each(['', '{', '{"seq":0}', 'null'])('is broken by a foreign line: %j', async (line) => {
    const lines = [line, ...(await exported(1))]
    expect(await verifyExport(streamOf(lines))).toMatchObject({ kind: 'broken', seq: 0 })
  })
})
