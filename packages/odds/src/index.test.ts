import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const files = readdirSync(new URL('.', import.meta.url)).filter((file) => file.endsWith('.ts'))
const sources = files.filter((file) => !/\.(test|bench)\.ts$/.test(file))
const readText = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')

describe('the package is pure', () => {
  test.for(sources)(
    '%s imports only its neighbours and uses neither time, chance nor process',
    (file) => {
      const text = readText(file)
      const imported = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
        ([, from]) => from,
      )
      for (const from of imported) expect(from).toMatch(/^\.\/[a-z-]+\.ts$/)
      expect(text).not.toMatch(
        /\b(require|Date|Math\.random|process|globalThis|fetch|console)\b[.(]/,
      )
    },
  )

  const acting = sources.filter((file) => /^export (?!type)/m.test(readText(file)))
  test.for(acting)('%s has a test, unless it holds types alone', (file) => {
    expect(files).toContain(file.replace('.ts', '.test.ts'))
  })
})
