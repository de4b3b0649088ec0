// Tries mutants against the tests, several at a time: each first without the optimizer, then, if it survives, as it would
// be deployed.
import { type Code, CompilerThread, compileProgram, draftOf, type Program } from './compiler.ts'
import { codeDigest, type Memory, programDigest, type Verdict } from './memory.ts'
import { type Mutant, mutatedText } from './mutant.ts'
import { DRAFT_PASSES, PASSES, type TestPass, type Workbench } from './workbench.ts'

/** A mutant's outcome. */
export type Outcome =
  | Verdict
  /** It does not compile. */
  | { readonly status: 'stillborn' }
  /** It compiles to the contract's own code. */
  | { readonly status: 'equivalent' }

/** The outcome of a code, by its digest. */
type Found = { readonly outcome: Outcome; readonly digest: string }

export type Result = Found & { readonly mutant: Mutant }

/** A way to compile the contract, and the tests for that code. */
type Level = {
  readonly program: Program
  readonly passes: readonly TestPass[]
  /** Names the contract's own code at this level. */
  readonly ownDigest: string
}

type Campaign = {
  readonly mutants: readonly Mutant[]
  readonly levels: readonly Level[]
  readonly benches: readonly Workbench[]
  readonly memory: Memory
  /** Called after each mutant. */
  readonly onResult: (result: Result, done: number) => void
}

/** One byte of code that answers every call with nothing. */
const STOP: Code = { creation: '0x60016000f3', runtime: '0x00' }

async function tryOn(
  bench: Workbench,
  codes: readonly Code[],
  passes: readonly TestPass[],
): Promise<Verdict> {
  bench.place(codes)
  for (const pass of passes) {
    const run = await bench.run(pass)
    if (run.status === 'failed') return { status: 'killed', by: run.by }
    if (run.status === 'timed out') return { status: 'timed out', by: pass.name }
  }
  return { status: 'survived' }
}

async function levelOf(
  bench: Workbench,
  program: Program,
  passes: readonly TestPass[],
): Promise<Level> {
  const own = compileProgram(program)
  if (own.status === 'failed') throw new Error(own.error)
  const verdict = await tryOn(bench, own.codes, passes)
  if (verdict.status !== 'survived') {
    throw new Error(`the tests fail without a mutant: ${verdict.by}`)
  }
  const dead = own.codes.map(() => STOP)
  if ((await tryOn(bench, dead, passes)).status !== 'killed') {
    throw new Error('the tests pass on a contract that does nothing')
  }
  return { program, passes, ownDigest: codeDigest(own.codes) }
}

/**
 * The levels of a run, in order. Proves that the run is meaningful: our compiler's output equals forge's, the tests pass
 * on it, and they fail on code that does nothing.
 * @throws Error if one of these does not hold
 */
export async function levelsOf(bench: Workbench, program: Program): Promise<readonly Level[]> {
  const builtDigest = codeDigest(bench.codes())
  const draft = await levelOf(bench, draftOf(program), DRAFT_PASSES)
  const whole = await levelOf(bench, program, PASSES)
  if (whole.ownDigest !== builtDigest) {
    throw new Error('this compiler’s output differs from forge’s: see scripts/mutation/compiler.ts')
  }
  return [draft, whole]
}

const STILLBORN = { digest: '', outcome: { status: 'stillborn' } } as const

/** Tries the mutants of a campaign one by one; several lanes share it. */
class Trials {
  readonly #campaign: Campaign
  readonly #running = new Map<string, Promise<Verdict>>()

  constructor(campaign: Campaign) {
    this.#campaign = campaign
  }

  async resultOf(mutant: Mutant, bench: Workbench, compiler: CompilerThread): Promise<Result> {
    for (const level of this.#campaign.levels) {
      const found = await this.#find(level, mutant, { bench, compiler })
      const isLast = level === this.#campaign.levels.at(-1)
      if (isLast || found.outcome.status !== 'survived') return { mutant, ...found }
    }
    throw new Error('a campaign has a level')
  }

  async #find(
    level: Level,
    mutant: Mutant,
    { bench, compiler }: { readonly bench: Workbench; readonly compiler: CompilerThread },
  ): Promise<Found> {
    const { memory } = this.#campaign
    const { sources, settings } = level.program
    const text = mutatedText(sources[mutant.file] ?? '', mutant)
    const program = { sources: { ...sources, [mutant.file]: text }, settings }
    const name = programDigest(program)
    const known = this.#known(level, memory.codeOf(name))
    if (known) return known
    const compilation = await compiler.compile(program)
    if (compilation.status === 'failed') {
      memory.keepCode(name, null)
      return STILLBORN
    }
    const digest = codeDigest(compilation.codes)
    memory.keepCode(name, digest)
    const settled = this.#known(level, digest)
    if (settled) return settled
    const running = this.#running.get(digest)
    if (running) return { digest, outcome: await running }
    const trial = tryOn(bench, compilation.codes, level.passes)
    this.#running.set(digest, trial)
    const outcome = await trial
    memory.keepVerdict(digest, outcome)
    return { digest, outcome }
  }

  /** The outcomes that need no trial. */
  #known(level: Level, digest: string | null | undefined): Found | undefined {
    if (digest === undefined) return undefined
    if (digest === null) return STILLBORN
    if (digest === level.ownDigest) return { digest, outcome: { status: 'equivalent' } }
    const outcome = this.#campaign.memory.verdictOf(digest)
    return outcome && { digest, outcome }
  }
}

/** Tries every mutant of the campaign; results are in mutant order. */
export async function runCampaign(campaign: Campaign): Promise<readonly Result[]> {
  const { mutants, benches, onResult } = campaign
  const results: (Result | undefined)[] = mutants.map(() => undefined)
  const trials = new Trials(campaign)
  let next = 0
  let done = 0

  const work = async (bench: Workbench): Promise<void> => {
    const compiler = new CompilerThread()
    try {
      for (let index = next++; index < mutants.length; index = next++) {
        const mutant = mutants[index]
        if (!mutant) break
        const result = await trials.resultOf(mutant, bench, compiler)
        results[index] = result
        onResult(result, ++done)
      }
    } finally {
      await compiler.close()
    }
  }

  await Promise.all(benches.map(work))
  return results.filter((result) => result !== undefined)
}
