import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as iteration } from 'node:timers/promises'
import { createCompactRange } from '@tallystick/hashchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { checkpointFile, loadCheckpointSeed } from './checkpoint-file.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'checkpoint-'))
})

afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

const resting = async (): Promise<void> => {
  while (vi.getTimerCount() === 0) await iteration()
}

test('a checkpoint file rests after each renewal, and at the end it has the newest head', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const file = checkpointFile({
    owner: {
      databasePath: join(folder, 'store.db'),
      checkpointSeed: new Uint8Array(32),
      origin: 'test.example/notes',
    },
    originEnding: '',
    fileEnding: '.checkpoint',
    Unavailable: Error,
  })
  const journal = createCompactRange()
  let written = 0
  const commit = (): void => {
    journal.append(new Uint8Array(32))
    const head = (): typeof journal => {
      written += 1
      return journal
    }
    file.renew(head, (error) => expect(error).toBeUndefined())
  }
  const sizeInFile = (): string | undefined =>
    readFileSync(String(file.path), 'utf8').split('\n')[1]

  commit()
  await resting()
  expect(sizeInFile()).toBe('1')
  commit()
  commit()
  expect(written).toBe(1)
  vi.runOnlyPendingTimers()
  await resting()
  expect([written, sizeInFile()]).toEqual([2, '3'])
  commit()
  await file.flush()
  expect([written, sizeInFile()]).toEqual([3, '4'])
})

test('a checkpoint key is made once, for its owner alone; a damaged one is a named error', () => {
  const path = join(folder, 'store.db')
  const load = () => loadCheckpointSeed(path, NotesUnavailable)
  const seed = load()
  expect(load()).toEqual(seed)
  expect(statSync(`${path}.checkpoint-key`).mode & 0o777).toBe(0o600)
  for (const text of ['', 'AAAA', 'not base64 at all', seed.toString()]) {
    writeFileSync(`${path}.checkpoint-key`, text)
    expect(load).toThrow(NotesUnavailable)
  }
})
