// The rules that every engine of a journal store keeps. A suite gets a place where stores can be reopened, and access to what
// they have stored.
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import {
  computeRoot,
  leafHash,
  openCheckpoint,
  verifyConsistency,
  verifyInclusion,
} from '@tallystick/hashchain'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { countNote, type NoteCounts } from './notes-store.fixture.ts'
import type { Store, Tx } from './store.ts'

/** A store of one journal, whose rows have one cell besides index and hash: their text. It counts the notes of authors. */
type NoteStore = Store<'notes', NoteCounts, string>

/** Where one engine keeps its stores. */
export type PlaceUnderTest = {
  readonly databasePath: string
  open(over?: {
    readonly checkpointSeed?: Uint8Array
    readonly runMs?: number
    readonly onProblem?: (error: unknown) => void
  }): Promise<NoteStore>
  /** Stored texts, in order. */
  texts(): Promise<readonly string[]>
  /** Removes an entry. */
  dropEntry(index: number): Promise<void>
  /** Replaces an entry's leaf with another entry's. */
  alterLeaf(index: number): Promise<void>
  /** Makes a write run a statement that the engine refuses. */
  readonly fail: (tx: Tx<'notes', NoteCounts>) => void
  /** Saves what is stored now, so that it can be restored later. */
  keep(): Promise<{ restore(): Promise<void> }>
  accept(): Promise<{ readonly size: number; readonly signedSize: number | undefined }>
  readonly Unavailable: new (message: string) => Error
  end(): Promise<void>
}

export const hashText = (text: string): Uint8Array => leafHash(Buffer.from(text))

/** Appends a text in a write of its own. */
export const appendText = (store: Pick<NoteStore, 'write'>, text: string): Promise<number> =>
  store.write(({ append }) => append('notes', hashText(text), [text]))

const appendTexts = (store: NoteStore, count: number): Promise<readonly number[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => appendText(store, `text ${index}`)))

export function describeStore(name: string, start: () => Promise<PlaceUnderTest>): void {
  describe(`store: ${name}`, () => {
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
      expect(store.journals.notes.rootHash()).toEqual(computeRoot(texts.map(hashText)))
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
        const leaf = hashText(`text ${index}`)
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
        store.write(({ append }) => {
          for (let count = 0; count < 200; count += 1) append('notes', hashText('x'), ['x'])
          throw new Error('a write that is rolled back')
        }),
      ).rejects.toThrow('rolled back')
      await appendTexts(store, 200)
      const { notes } = store.journals
      const sizes = [1, 2, 3, 255, 256, 257, 511, 512, 600, 767, 768, 800]
      for (const oldSize of sizes)
        for (const size of sizes.filter((each) => each >= oldSize)) {
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
        store.write(({ append }) => {
          append('notes', hashText('half'), ['half'])
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
      expect(store.journals.notes.rootHash()).toEqual(
        computeRoot(['before', 'after'].map(hashText)),
      )
    })

    it('a write sees what the writes before it in its group changed, and what was committed', async () => {
      const store = await open()
      const counts = await Promise.all(
        Array.from({ length: 60 }, () => store.write(countNote('ann'), 'ann')),
      )
      expect(counts).toEqual(Array.from({ length: 60 }, (_, at) => at + 1))
      expect(await store.write(countNote('ann'), 'ann')).toBe(61)
      expect(await store.rows('SELECT name, entries FROM writers')).toEqual([['ann', 61]])
    })

    it('a write that throws behind its changes leaves no trace in what the next ones see', async () => {
      const store = await open()
      const results = await Promise.allSettled([
        store.write(countNote('ann'), 'ann'),
        store.write(async (tx) => {
          await countNote('ann')(tx)
          tx.run('INSERT INTO writers (name, entries) VALUES ($1, $2)', ['eve', 1])
          throw new Error('a bug')
        }, 'ann'),
        store.write(countNote('ann'), 'ann'),
      ])
      expect(results.map((result) => result.status === 'fulfilled' && result.value)).toEqual([
        1,
        false,
        2,
      ])
      expect(await store.rows('SELECT name, entries FROM writers')).toEqual([['ann', 2]])
      expect(await place.texts()).toEqual(['ann 1', 'ann 2'])
    })

    it('a statement that is refused at the commit fails its own write, and no other', async () => {
      const store = await open()
      const results = await Promise.allSettled([
        appendText(store, 'before'),
        store.write(({ append, run }) => {
          append('notes', hashText('refused'), ['refused'])
          run('INSERT INTO writers (name, entries) VALUES ($1, NULL)', ['x'])
        }),
        appendText(store, 'after'),
      ])
      expect(results).toMatchObject([
        { value: 0 },
        { reason: expect.any(place.Unavailable) },
        { value: 1 },
      ])
      expect(await place.texts()).toEqual(['before', 'after'])
    })

    it('a read that is refused fails its own write, also if that catches the error where the engine gives up the transaction', async () => {
      const store = await open()
      const results = await Promise.allSettled([
        appendText(store, 'before'),
        store.write(({ rows }) => rows('SELECT nothing FROM nowhere')),
        appendText(store, 'after'),
      ])
      expect(results).toMatchObject([
        { value: 0 },
        { reason: expect.any(place.Unavailable) },
        { value: 1 },
      ])
      expect(await place.texts()).toEqual(['before', 'after'])
    })

    it('a write that decides for too long is rejected alone, and what it does later is refused', async () => {
      const store = await open({ runMs: 50 })
      const [late, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()]
      const results = await Promise.allSettled([
        appendText(store, 'before'),
        store.write(async (tx) => {
          await late.promise
          try {
            tx.append('notes', hashText('late'), ['late'])
          } catch (error) {
            ended.resolve(error)
          }
        }),
        appendText(store, 'after'),
      ])
      late.resolve()
      expect(results).toMatchObject([
        { value: 0 },
        { reason: { name: 'WriteTooSlow' } },
        { value: 1 },
      ])
      expect(String(await ended.promise)).toMatch(/a write has ended/)
      expect(await place.texts()).toEqual(['before', 'after'])
    })

    it('nothing is seen before its commit', async () => {
      const store = await open()
      const seen: unknown[] = []
      await store.write(async ({ append, rows, size }) => {
        append('notes', hashText('one'), ['one'])
        seen.push(
          size('notes'),
          store.journals.notes.size,
          (await rows('SELECT 1 FROM notes')).length,
        )
      })
      expect([...seen, store.journals.notes.size]).toEqual([1, 0, 0, 1])
    })

    it('S12: a listener that throws behind a COMMIT makes no group run again; its error is told, and others hear', async () => {
      const [bug, problems] = [new Error('a bug of the listener'), new Array<unknown>()]
      const store = await open({ onProblem: (error) => problems.push(error) })
      let calls = 0
      store.onGrown(() => {
        throw bug
      })
      const stop = store.onGrown(() => (calls += 1))
      expect(await appendText(store, 'one')).toBe(0)
      stop()
      expect(await appendText(store, 'two')).toBe(1)
      expect([problems, calls]).toEqual([[bug, bug], 1])
      expect(await place.texts()).toEqual(['one', 'two'])
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
      const verifierKey = store.journals.notes.verifierKey
      const parsed = openCheckpoint({ note: store.journals.notes.checkpoint(), verifierKey })
      expect(parsed).toMatchObject({ kind: 'checkpoint', checkpoint: { size: 5 } })
      expect(parsed.kind === 'checkpoint' && Buffer.from(parsed.checkpoint.rootHash)).toEqual(
        Buffer.from(store.journals.notes.rootHash()),
      )
    })

    it('a store outlives its process: it opens at the same head and goes on, with what was noted', async () => {
      const store = await open()
      await appendTexts(store, 3)
      await store.note('INSERT INTO writers (name, entries) VALUES ($1, $2)', ['ann', 7])
      const rootHash = store.journals.notes.rootHash()
      await store.close()
      const again = await open()
      expect(again.journals.notes).toMatchObject({ size: 3 })
      expect(again.journals.notes.rootHash()).toEqual(rootHash)
      expect(await appendText(again, 'on')).toBe(3)
      expect(await again.rows('SELECT name, entries FROM writers')).toEqual([['ann', 7]])
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
        Array.from({ length: 20_001 }, () => store.write(() => undefined)),
      )
      const refused = results.filter(({ status }) => status === 'rejected')
      expect(refused).toMatchObject([{ reason: { message: 'too many writes are waiting' } }])
    })

    it('a journal that lost its tail is refused until what is left is accepted', async () => {
      await fill(5)
      const copy = await place.keep()
      const store = await open()
      await appendText(store, 'newer')
      await store.close()
      await copy.restore()
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
