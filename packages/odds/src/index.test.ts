import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as odds from './index.ts'

const files = readdirSync(new URL('.', import.meta.url)).filter((file) => file.endsWith('.ts'))
const sources = files.filter((file) => !/\.(test|bench)\.ts$/.test(file))
const textOf = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')
const kebab = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

describe('the package is pure', () => {
  test.for(sources)(
    '%s imports only its neighbours and asks neither time, chance nor process',
    (file) => {
      const text = textOf(file)
      const imported = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
        ([, from]) => from,
      )
      for (const from of imported) expect(from).toMatch(/^\.\/[a-z-]+\.ts$/)
      expect(text).not.toMatch(
        /\b(require|Date|Math\.random|process|globalThis|fetch|console)\b[.(]/,
      )
    },
  )
})

describe('one exported function per file', () => {
  const functions = Object.entries(odds).filter(([, value]) => typeof value === 'function')

  test.for(functions.map(([name]) => name))(
    '%s lives in the file of its name, with a test',
    (name) => {
      expect(sources).toContain(`${kebab(name)}.ts`)
      expect(files).toContain(`${kebab(name)}.test.ts`)
    },
  )

  test.for(sources)('%s exports at most one function', (file) => {
    expect(textOf(file).match(/^export function /gm) ?? []).toHaveLength(
      file === 'index.ts' || !files.includes(file.replace('.ts', '.test.ts')) ? 0 : 1,
    )
  })
})
