// Changes the contract in one place at a time and checks whether the tests notice.
//   --all                  every mutant; fails below the required score
//   --sample N [--seed S]  N mutants drawn by a seed; results are not remembered
//   --match TEXT           those whose key or file contains the text
//   --list                 prints the mutants' keys without trying them
//   --lanes N              how many at a time
//   --log FILE             with --all: takes the results of an earlier run from what it printed, except those whose key
//                          contains the text of an --again: functions that changed since, survivors with a new test
// A survivor that mutation-survivors.json does not explain fails every run. So does a reason whose mutant is gone or
// killed: it would explain the next mutant with that name. The results of --all and --match stay in cache/mutation/ until
// those tests change, so that a stopped run resumes where it was.
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { levelsOf, type Outcome, type Result, runCampaign } from './mutation/campaign.ts'
import { readProgram } from './mutation/compiler.ts'
import { Memory } from './mutation/memory.ts'
import type { Mutant } from './mutation/mutant.ts'
import { mutantsOf } from './mutation/mutants-of.ts'
import { reportOf, scoreOfAll } from './mutation/report.ts'
import { sampleOf } from './mutation/sample.ts'
import { readReasons, reviewSurvivors } from './mutation/survivors.ts'
import { Workbench } from './mutation/workbench.ts'

/** Share of the mutants that the tests must kill. */
const SCORE_MIN = 0.93

/** A lane holds a compiler (about 300 MB) and runs forge, which uses more cores. */
const LANES_MAX = 8

/** Exit codes of a stopped run. */
const STOPPED = { SIGINT: 130, SIGTERM: 143 }

const { values: options } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    match: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
    log: { type: 'string' },
    again: { type: 'string', multiple: true, default: [] },
    lanes: { type: 'string', default: String(availableParallelism()) },
  },
})

/** @throws Error for text that is not a whole number from 0: a run of no mutants would pass. */
function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,9}$/u.test(text)) throw new Error(`--${name} takes a whole number`)
  return Number(text)
}

function chosenOf(mutants: readonly Mutant[]): readonly Mutant[] {
  if (options.sample !== undefined) {
    const count = wholeNumber('sample', options.sample)
    return sampleOf(mutants, count, wholeNumber('seed', options.seed))
  }
  if (options.match.length === 0) return mutants
  return mutants.filter(({ key, file }) =>
    options.match.some((text) => key.includes(text) || file.includes(text)),
  )
}

/** One line of `progressOf`, of a mutant that was tried. */
const PRINTED = /^\d+\/\d+ \d+ s {2}(killed|survived|stillborn)(?: \(([^)]+)\))? {2}(.+)$/u

/** What an earlier run printed of these mutants. Its codes are not known: duplicates among them count as killed. */
function earlierResults(mutants: readonly Mutant[]): readonly Result[] {
  if (options.log === undefined) return []
  const byKey = new Map(mutants.map((mutant) => [mutant.key, mutant]))
  return readFileSync(options.log, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, status, by = '', key = ''] = PRINTED.exec(line) ?? []
      const mutant = byKey.get(key)
      if (!mutant || options.again.some((text) => key.includes(text))) return []
      const outcome: Outcome =
        status === 'killed' ? { status, by } : { status: status as 'survived' | 'stillborn' }
      return [{ mutant, outcome, digest: `printed: ${key}` }]
    })
}

function progressOf(total: number): (result: Result, done: number) => void {
  const startedAt = Date.now()
  return ({ mutant, outcome }, done) => {
    const seconds = Math.round((Date.now() - startedAt) / 1_000)
    const by = 'by' in outcome ? ` (${outcome.by})` : ''
    console.log(`${done}/${total} ${seconds} s  ${outcome.status}${by}  ${mutant.key}`)
  }
}

async function main(): Promise<void> {
  if (!options.all && !options.list && options.sample === undefined && options.match.length === 0) {
    throw new Error('say --all, --sample N, --match TEXT or --list')
  }
  const lanes = Math.min(LANES_MAX, Math.max(1, wholeNumber('lanes', options.lanes)))
  Workbench.build()
  const benches: Workbench[] = []
  const close = (): void => {
    for (const one of benches) one.close()
  }
  for (const [signal, exitCode] of Object.entries(STOPPED)) {
    process.once(signal, () => {
      close()
      process.exit(exitCode)
    })
  }
  try {
    const bench = Workbench.open(benches)
    while (!options.list && benches.length < lanes) Workbench.open(benches)
    const { program, trees } = readProgram(bench.settings())
    const all = Object.entries(trees)
      .filter(([path]) => path.startsWith('src/'))
      .flatMap(([path, tree]) => mutantsOf({ path, text: program.sources[path] ?? '', tree }))
    const mutants = chosenOf(all)
    if (mutants.length === 0) throw new Error('no mutant is chosen')
    if (options.list) {
      for (const { operator, key } of mutants) console.log(`${operator}  ${key}`)
      return
    }
    const levels = await levelsOf(bench, program)
    const memory = new Memory(options.sample === undefined)
    const earlier = earlierResults(mutants)
    const isSettled = new Set(earlier.map(({ mutant }) => mutant.key))
    const untried = mutants.filter(({ key }) => !isSettled.has(key))
    const onResult = progressOf(untried.length)
    const tried = await runCampaign({ mutants: untried, levels, benches, memory, onResult })
    const results = [...earlier, ...tried]
    const reasons = readReasons()
    const review = reviewSurvivors(results, reasons, new Set(all.map(({ key }) => key)))
    console.log(reportOf(results, review, reasons))
    const isLow = options.all && scoreOfAll(results) < SCORE_MIN
    if (isLow) console.log(`the score is below ${SCORE_MIN * 100} %`)
    if (isLow || review.unexplained.length > 0 || review.stale.length > 0) process.exitCode = 1
  } finally {
    close()
  }
}

await main()
