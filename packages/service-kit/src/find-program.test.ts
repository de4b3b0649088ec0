import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { findProgram } from './find-program.ts'

const root = mkdtempSync(join(tmpdir(), 'find-program-'))
afterAll(() => rmSync(root, { recursive: true }))

/** A folder with one entry called `tool`. */
function folderWith(name: string, put: (path: string) => void): string {
  mkdirSync(join(root, name))
  put(join(root, name, 'tool'))
  return join(root, name)
}
const program = (path: string): void => {
  writeFileSync(path, '#!/bin/sh\n')
  chmodSync(path, 0o755)
}
const first = folderWith('first', program)
const second = folderWith('second', program)
const text = folderWith('text', (path) => writeFileSync(path, ''))
const nested = folderWith('nested', (path) => mkdirSync(path))
const linked = folderWith('linked', (path) => symlinkSync(join(second, 'tool'), path))
const dangling = folderWith('dangling', (path) => symlinkSync(join(root, 'nowhere'), path))

const found = (...folders: readonly string[]) => findProgram('tool', folders.join(delimiter))

test('finds the first executable file with that name', () => {
  expect(found(first, second)).toBe(join(first, 'tool'))
  expect(found(second, first)).toBe(join(second, 'tool'))
  expect(found(linked)).toBe(join(linked, 'tool'))
})

test('skips empty entries, absent folders, non-executable files, folders and dead links', () => {
  expect(found('', join(root, 'absent'), text, nested, dangling, second)).toBe(join(second, 'tool'))
})

test('an entry that is a file holds no programs', () => {
  expect(found(join(first, 'tool'))).toBeUndefined()
})

test('finds nothing on an empty path', () => {
  expect(findProgram('tool', '')).toBeUndefined()
  expect(findProgram('absent', first)).toBeUndefined()
})
