// Changes the contract in one place at a time and checks whether the tests notice.
//   --all         every mutant; fails below the required score
//   --sample N    N mutants, at equal distances
//   --match TEXT  those whose key or file contains the text
//   --list        prints the mutants' keys without trying them
// A survivor that mutation-survivors.json does not explain fails every run. So does a reason whose mutant is gone or
// killed: it would explain the next mutant with that name. A stopped run resumes where it was.
import { parseArgs } from 'node:util'
import { compileTarget, readProgram, type Settings, type Sources } from './mutation/compiler.ts'
import { type Mutant, mutatedText } from './mutation/mutant.ts'
import { mutantsOf } from './mutation/mutants-of.ts'
import { reportOf, scoreOf } from './mutation/report.ts'
import { type Outcome, Outcomes } from './mutation/results.ts'
import { readReasons, reviewSurvivors } from './mutation/survivors.ts'
import { artifactCode, judge, openWorkbench } from './mutation/workbench.ts'

/** Share of the mutants that the tests must kill. */
const SCORE_MIN = 0.95

/** Code that answers every call with nothing. */
const STOP = { bytecode: { object: '0x60016000f3' }, deployedBytecode: { object: '0x00' } }

const { values: options } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    sample: { type: 'string' },
    match: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
  },
})

/** @throws Error if that is no mutant: such a run would pass. */
function chosenOf(mutants: readonly Mutant[]): readonly Mutant[] {
  const distance = options.sample === undefined ? 1 : mutants.length / Number(options.sample)
  const chosen = mutants
    .filter((_, index) => index % distance < 1)
    .filter(
      ({ key, file }) =>
        options.match.length === 0 ||
        options.match.some((text) => key.includes(text) || file.includes(text)),
    )
  if (chosen.length === 0) throw new Error('no mutant is chosen')
  return chosen
}

/**
 * The settings that mutants are compiled with: forge's own, but without the optimizer, which takes two thirds of the time
 * and changes nothing but gas.
 * @throws Error if a run would prove nothing: this compiler's output is not forge's, the tests fail without a mutant, or
 * they pass on code that does nothing
 */
function provenSettings(sources: Sources): Settings {
  const built = openWorkbench()
  if (compileTarget(sources, built)?.bytecode.object !== artifactCode().bytecode.object) {
    throw new Error('this compiler’s output differs from forge’s: see scripts/mutation/compiler.ts')
  }
  const settings = { ...built, optimizer: { enabled: false } }
  const own = compileTarget(sources, settings)
  const verdict = own && judge(own)
  if (verdict?.status !== 'survived') {
    throw new Error(`the tests fail without a mutant: ${verdict?.by}`)
  }
  if (judge(STOP).status !== 'killed') {
    throw new Error('the tests pass on a contract that does nothing')
  }
  return settings
}

function outcomeOf(mutant: Mutant, sources: Sources, settings: Settings): Outcome {
  const text = mutatedText(sources[mutant.file] ?? '', mutant)
  const code = compileTarget({ ...sources, [mutant.file]: text }, settings)
  return code ? judge(code) : { status: 'stillborn' }
}

function main(): void {
  if (!options.all && !options.list && options.sample === undefined && options.match.length === 0) {
    throw new Error('say --all, --sample N, --match TEXT or --list')
  }
  const { sources, trees } = readProgram()
  const all = Object.entries(trees)
    .filter(([path]) => path.startsWith('src/'))
    .flatMap(([path, tree]) => mutantsOf({ path, text: sources[path] ?? '', tree }))
  const chosen = chosenOf(all)
  if (options.list) {
    for (const { operator, key } of chosen) console.log(`${operator}  ${key}`)
    return
  }
  const settings = provenSettings(sources)
  const outcomes = new Outcomes()
  const results = chosen.map((mutant, index) => {
    const outcome = outcomes.of(mutant.key) ?? outcomeOf(mutant, sources, settings)
    outcomes.keep(mutant.key, outcome)
    const by = 'by' in outcome ? ` (${outcome.by})` : ''
    console.log(`${index + 1}/${chosen.length}  ${outcome.status}${by}  ${mutant.key}`)
    return { mutant, outcome }
  })
  const review = reviewSurvivors(results, readReasons(), new Set(all.map(({ key }) => key)))
  console.log(reportOf(results, review))
  const isLow = options.all && scoreOf(results) < SCORE_MIN
  if (isLow) console.log(`the score is below ${SCORE_MIN * 100} %`)
  if (isLow || review.unexplained.length > 0 || review.stale.length > 0) process.exitCode = 1
}

main()
