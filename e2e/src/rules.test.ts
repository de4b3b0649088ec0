import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  numbersIn,
  numbersInTitles,
  RULES_FOLDER,
  readRules,
  unresolvedNumbers,
} from '../../scripts/debt/rules.ts'
import { readSources } from '../../scripts/debt/source-files.ts'
import { root } from './spawned-stack.ts'

const files = readSources(root, ['.ts', '.sol', '.js', '.mjs', '.css', '.html', '.md', '.tree'])
const rules = files.filter(({ path }) => path.startsWith(RULES_FOLDER)).flatMap(readRules)
const byPath = new Map(files.map((file) => [file.path, file]))

it('every rule number in the repository is a rule in docs/rules', () => {
  expect(unresolvedNumbers(files, rules)).toEqual([])
})

it('every number is given once', () => {
  const numbers = rules.map(({ number }) => number)
  expect(numbers.length).toBeGreaterThan(80)
  expect(numbers).toEqual([...new Set(numbers)])
})

it('every rule with behaviour has a test that names it in a title', () => {
  const isShown = ({ number, tests }: (typeof rules)[number]): boolean =>
    tests.length > 0 &&
    tests.every((path) => numbersInTitles(byPath.get(path) ?? { path, text: '' }).includes(number))
  const notShown = rules.filter((rule) => rule.hasBehaviour && !isShown(rule))
  expect(notShown).toEqual([])
})

it('every link of a rule leads to a file', () => {
  const targets = rules.flatMap(({ code, tests }) => [...code, ...tests])
  expect(targets.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

it('a number is not confused with a URI, a colour or a longer word', () => {
  expect(numbersIn('X9, A4–A5 (C3) and invariant_I1_Holds')).toEqual(['X9', 'A4', 'A5', 'C3', 'I1'])
  expect(numbersIn('%C3%96 #A4 0xC3 L10n S3-like X0 A100 v.G1')).toEqual([])
})

it('no paragraph of a rule has more than three sentences', () => {
  const paragraphs = files
    .filter(({ path }) => path.startsWith(RULES_FOLDER))
    .flatMap(({ text }) => text.split('\n\n'))
    .filter((text) => !/^(?:#|Code:|\||- )/.test(text))
  // What stands in code or in parentheses ends no sentence.
  const prose = paragraphs.map((text) => text.replaceAll(/`[^`]*`|\([^()]*\)/g, 'x'))
  const long = prose.filter((text) => (text.match(/[.!?](?= [\p{Lu}“]|\s*$)/gu)?.length ?? 0) > 3)
  expect(paragraphs.length).toBeGreaterThan(200)
  expect(long).toEqual([])
})
