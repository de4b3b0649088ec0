/**
 * The repository's weight: lines per room, which are reported but not judged, and counts that may only fall. Part of `npm
 * run check`; `--write` saves lower counts, `--list` names everything counted. How many files one request runs is only printed
 * here: `npm run files-run` measures it on a running stack, and an e2e test holds it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findArrowsUp, findCircles } from './debt/arrows.ts'
import { readEntries, unusedExports } from './debt/imports.ts'
import { wornNames } from './debt/names.ts'
import { repeatedCode, repeatedDefaults } from './debt/repeats.ts'
import { RULES_FOLDER, readRules, unresolvedNumbers } from './debt/rules.ts'
import { isCode, linesByRoom, readSources } from './debt/source-files.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const baselineFile = join(root, 'scripts/debt.json')
const ENDINGS = ['.ts', '.sql', '.sol', '.js', '.mjs', '.css', '.html', '.md', '.tree']
const MODULE = /\.(?:ts|js|mjs)$/

function count(): Readonly<Record<string, readonly string[]>> {
  const files = readSources(root, ENDINGS)
  const documents = files.filter(({ path }) => path.endsWith('.md'))
  const modules = files.filter(({ path }) => MODULE.test(path))
  const entries = readEntries(readSources(root, ['package.json']), modules)
  const rules = documents.filter(({ path }) => path.startsWith(RULES_FOLDER)).flatMap(readRules)
  for (const { room, production, test } of linesByRoom(files)) {
    console.log(
      `${room.padEnd(24)} ${String(production).padStart(6)} lines ${String(test).padStart(6)} of tests`,
    )
  }
  return {
    'circles of files': findCircles(modules, entries),
    'imports back up between rooms': findArrowsUp(modules, entries),
    'exports without a user': unusedExports(modules, { entries, documents }),
    'names that say nothing': wornNames(modules),
    'rule numbers that do not resolve': unresolvedNumbers(files, rules),
    'repeats of more than 10 lines': repeatedCode(files.filter(isCode)),
    'values that stand twice': repeatedDefaults(modules),
  }
}

const counts = count()
const filesRun: object = JSON.parse(readFileSync(join(root, 'scripts/files-run.json'), 'utf8'))
for (const [request, files] of Object.entries(filesRun))
  console.log(`files of a ${request}: ${files}`)
const baseline: Record<string, number> = JSON.parse(readFileSync(baselineFile, 'utf8'))
for (const [what, found] of Object.entries(counts)) {
  const allowed = baseline[what] ?? Number.POSITIVE_INFINITY
  const isWorse = found.length > allowed
  if (isWorse || process.argv.includes('--list')) console.log(found.join('\n'))
  console.log(
    `${what}: ${found.length}${isWorse ? `, more than the ${allowed} of scripts/debt.json` : ''}`,
  )
  if (isWorse) process.exitCode = 1
  baseline[what] = Math.min(allowed, found.length)
}
if (process.argv.includes('--write')) {
  writeFileSync(baselineFile, `${JSON.stringify(baseline, undefined, 2)}\n`)
}
