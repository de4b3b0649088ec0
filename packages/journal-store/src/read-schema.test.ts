import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { readSchema } from './read-schema.ts'

const folder = mkdtempSync(join(tmpdir(), 'schema-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('S8: a schema that is missing, or was cut behind any of its statements, makes no store', () => {
  const whole = readFileSync(new URL('./postgres-journals.schema.sql', import.meta.url), 'utf8')
  const file = pathToFileURL(join(folder, 'cut.schema.sql'))
  expect(() => readSchema(file, NotesUnavailable)).toThrow(
    /cut\.schema\.sql is missing, so this program is damaged/,
  )
  const ends = [...whole.matchAll(/;\n/g)].map(({ index }) => index + 2)
  expect(ends.length).toBeGreaterThan(10)
  for (const end of [1, ...ends, whole.length - 2]) {
    writeFileSync(file, whole.slice(0, end))
    expect(() => readSchema(file, NotesUnavailable)).toThrow(NotesUnavailable)
  }
  writeFileSync(file, whole)
  expect(readSchema(file, NotesUnavailable)).toBe(whole)
})
