import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as iteration } from 'node:timers/promises'
import { createCompactRange } from '@tallystick/hashchain'
import { afterEach, expect, test, vi } from 'vitest'
import { checkpointFile } from './checkpoint-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'checkpoint-'))

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
