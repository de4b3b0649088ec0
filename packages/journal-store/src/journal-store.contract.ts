// The rules that every engine of a journal store keeps. A suite gets a place where stores can be reopened, and access to what
// they have stored.
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import {
  leafHash,
  openNote,
  parseCheckpoint,
  rootOf,
  verifyConsistency,
  verifyInclusion,
} from '@tallystick/hashchain'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JournalStore, WriteTransaction } from './journal-store.ts'

/** A store of one journal, whose rows have one cell besides index and hash: their text. */
type NoteStore = Pick<
  JournalStore<'notes', string>,
  'write' | 'checkpoint' | 'verifierKey' | 'close'
> & {
  readonly journals: JournalStore<'notes', string>['journals']
}

/** Where one engine keeps its stores. */
export type PlaceUnderTest = {
  readonly databasePath: string
  open(over?: { readonly checkpointSeed?: Uint8Array }): Promise<NoteStore>
  /** Stored texts, in order. */
  texts(): Promise<readonly string[]>
  /** Removes an entry. */
  dropEntry(index: number): Promise<void>
  /** Replaces an entry's leaf with another entry's. */
  alterLeaf(index: number): Promise<void>
  /** Makes a write run a statement that the engine refuses. */
  readonly fail: (transaction: WriteTransaction<'notes', string>) => void
  /** Saves what is stored now, so that it can be restored later. */
  keep(): Promise<{ restore(): Promise<void> }>
  accept(): Promise<{ readonly size: number; readonly signedSize: number | undefined }>
  readonly Unavailable: new (message: string) => Error
  end(): Promise<void>
}

const hashOf = (text: string): Uint8Array => leafHash(Buffer.from(text))

/** Appends a text in a write of its own. */
export const appendText = (store: Pick<NoteStore, 'write'>, text: string): Promise<number> =>
  store.write(({ journals }) => journals.notes.append(hashOf(text), [text]))

const appendTexts = (store: NoteStore, count: number): Promise<readonly number[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => appendText(store, `text ${index}`)))

export function describeJournalStore(name: string, start: () => Promise<PlaceUnderTest>): void {
  describe(`journal store: ${name}`, () => {
    let place: PlaceUnderTest
    let opened: NoteStore[]
    beforeEach(async () => {
      place = await start()
      opened = []
    })
    afterEach(async () => {
      for (const store of opened) await store.close()
      await place.end()
    })
    const open = async (over?: Parameters<PlaceUnderTest['open']>[0]): Promise<NoteStore> => {
      const store = await place.open(over)
      opened.push(store)
      return store
    }
    const fill = async (count: number): Promise<void> => {
      const store = await open()
      await appendTexts(store, count)
      await store.close()
    }

    it('writes at the same time get indexes in order, without gaps, and the root is that of their leaves', async () => {
      const store = await open()
      expect(await appendTexts(store, 700)).toEqual(Array.from({ length: 700 }, (_, at) => at))
      const texts = await place.texts()
      expect(texts).toHaveLength(700)
      expect(store.journals.notes.size).toBe(700)
      expect(store.journals.notes.rootHash()).toEqual(rootOf(texts.map(hashOf)))
    })

    it('the checkpoint that a killed process was about to write goes at the next opening, that of a running one stays', async () => {
      const [killed, running] = [spawnSync(process.execPath, ['--version']).pid, process.ppid]
      const drafts = [killed, running].map(
        (pid) => `${place.databasePath}.notes-checkpoint.${pid}.next`,
      )
      for (const draft of drafts) writeFileSync(draft, 'notes.test/no')
      await open()
      expect(drafts.map((draft) => existsSync(draft))).toEqual([false, true])
    })

    it('an entry’s inclusion is proved in every tree that holds it, and in no other', async () => {
      const store = await open()
      await appendTexts(store, 600)
      const { notes } = store.journals
      for (const [index, size] of [
        [0, 1],
        [0, 600],
        [255, 256],
        [256, 600],
        [511, 512],
        [599, 600],
        [3, 300],
      ] as const) {
        const [rootHash, proof] = [
          await notes.rootAt(size),
          await notes.inclusionProof(index, size),
        ]
        const leaf = hashOf(`text ${index}`)
        expect(verifyInclusion({ leafHash: leaf, index, size, proof, rootHash })).toBe(true)
      }
      for (const [index, size] of [
        [600, 600],
        [0, 601],
        [-1, 5],
      ] as const)
        await expect((async () => notes.inclusionProof(index, size))()).rejects.toThrow(RangeError)
    })

    it('proves a prefix at any two sizes, also across what is kept of the tree', async () => {
      const store = await open()
      await appendTexts(store, 600)
      await expect(
        store.write(({ journals }) => {
          for (let count = 0; count < 200; count += 1) journals.notes.append(hashOf('x'), ['x'])
          throw new Error('a write that is rolled back')
        }),
      ).rejects.toThrow('rolled back')
      await appendTexts(store, 200)
      const { notes } = store.journals
      const sizes = [1, 2, 3, 255, 256, 257, 511, 512, 600, 767, 768, 800]
      for (const oldSize of sizes)
        for (const size of sizes.filter((one) => one >= oldSize)) {
          const proof = await notes.consistencyProof(oldSize, size)
          const [oldRootHash, rootHash] = [await notes.rootAt(oldSize), await notes.rootAt(size)]
          expect(verifyConsistency({ oldSize, oldRootHash, size, rootHash, proof })).toBe(true)
        }
      expect(await notes.consistencyProof(0, 800)).toEqual([])
      for (const [oldSize, size] of [
        [5, 4],
        [1, 801],
        [-1, 5],
        [0.5, 5],
      ] as const)
        await expect((async () => notes.consistencyProof(oldSize, size))()).rejects.toThrow(
          RangeError,
        )
    })

    it('a write that throws leaves nothing behind and rejects alone', async () => {
      const store = await open()
      const bug = new Error('a bug of this write')
      const results = await Promise.allSettled([
        appendText(store, 'before'),
        store.write(({ journals }) => {
          journals.notes.append(hashOf('half'), ['half'])
          throw bug
        }),
        appendText(store, 'after'),
      ])
      expect(results).toEqual([
        { status: 'fulfilled', value: 0 },
        { status: 'rejected', reason: bug },
        { status: 'fulfilled', value: 1 },
      ])
      expect(await place.texts()).toEqual(['before', 'after'])
      expect(store.journals.notes.rootHash()).toEqual(rootOf(['before', 'after'].map(hashOf)))
    })

    it('what the engine refuses fails the whole group by the service’s own error, and the next write goes on', async () => {
      const store = await open()
      await appendText(store, 'first')
      const results = await Promise.allSettled([
        appendText(store, 'with it'),
        store.write(place.fail),
      ])
      for (const result of results)
        expect(result.status === 'rejected' && result.reason).toBeInstanceOf(place.Unavailable)
      expect(await appendText(store, 'second')).toBe(1)
      expect(await place.texts()).toEqual(['first', 'second'])
    })

    it('a checkpoint says the head and opens under the verifier key', async () => {
      const store = await open()
      await appendTexts(store, 5)
      const verifierKey = store.verifierKey('notes')
      const note = openNote({ note: store.checkpoint('notes'), verifierKey })
      const parsed = parseCheckpoint(note.kind === 'opened' ? note.text : '')
      expect(parsed).toMatchObject({ kind: 'checkpoint', checkpoint: { size: 5 } })
      expect(parsed.kind === 'checkpoint' && Buffer.from(parsed.checkpoint.rootHash)).toEqual(
        Buffer.from(store.journals.notes.rootHash()),
      )
    })

    it('a store outlives its process: it opens at the same head and goes on, also from a relaxed write', async () => {
      const store = await open()
      await appendTexts(store, 3)
      await store.write(
        ({ journals }) => journals.notes.append(hashOf('relaxed'), ['relaxed']),
        'relaxed',
      )
      const rootHash = store.journals.notes.rootHash()
      await store.close()
      const again = await open()
      expect(again.journals.notes).toMatchObject({ size: 4 })
      expect(again.journals.notes.rootHash()).toEqual(rootHash)
      expect(await appendText(again, 'on')).toBe(4)
    })

    it('a closed store commits what waits and takes nothing more', async () => {
      const store = await open()
      const waiting = appendText(store, 'waiting')
      await store.close()
      expect(await waiting).toBe(0)
      await expect(appendText(store, 'late')).rejects.toThrow(place.Unavailable)
    })

    it('writes beyond what may wait are refused, and those that wait are kept', async () => {
      const store = await open()
      const results = await Promise.allSettled(
        Array.from({ length: 20_001 }, () => store.write(() => undefined, 'relaxed')),
      )
      const refused = results.filter(({ status }) => status === 'rejected')
      expect(refused).toMatchObject([{ reason: { message: 'too many writes are waiting' } }])
    })

    it('a journal that lost its tail is refused until what is left is accepted', async () => {
      await fill(5)
      const kept = await place.keep()
      const store = await open()
      await appendText(store, 'newer')
      await store.close()
      await kept.restore()
      await expect(open()).rejects.toThrow(/counts 6 entries, 5 of them/)
      expect(await place.accept()).toMatchObject({ size: 5, signedSize: 6 })
      expect(await appendText(await open(), 'instead')).toBe(5)
    })

    it('a journal of the same length that does not hash to its checkpoint is refused', async () => {
      await fill(5)
      await place.alterLeaf(2)
      await expect(open()).rejects.toThrow(/do not hash to its last signed checkpoint/)
    })

    it('a checkpoint by another key refuses the journal', async () => {
      await fill(2)
      await expect(open({ checkpointSeed: new Uint8Array(32).fill(8) })).rejects.toThrow(
        /not signed by/,
      )
    })

    it('a journal with a gap is refused, and is not accepted', async () => {
      await fill(5)
      await place.dropEntry(1)
      await expect(open()).rejects.toThrow(place.Unavailable)
      await expect(place.accept()).rejects.toThrow(/has gaps/)
    })
  })
}
