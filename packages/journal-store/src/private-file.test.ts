import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replaceFile, replaceFileNow } from './private-file.ts'

test('S13: a file that cannot be replaced leaves no draft beside it: on a full disk that would take what is left', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'private-file-'))
  try {
    // No file takes the place of a folder.
    const path = join(folder, 'checkpoint')
    mkdirSync(path)
    expect(() => replaceFileNow(path, 'text')).toThrow(/EISDIR|ENOTEMPTY|EEXIST/)
    await expect(replaceFile(path, 'text')).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/)
    expect(readdirSync(folder)).toEqual(['checkpoint'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
