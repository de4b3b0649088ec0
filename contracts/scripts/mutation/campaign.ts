// Tries mutants against the tests, several at a time.
import { type Code, CompilerThread, compileProgram, type Program } from './compiler.ts'
import { codeDigest, type Memory, textDigest, type Verdict } from './memory.ts'
import { type Mutant, mutatedText } from './mutant.ts'
import { STAGES, Workbench } from './workbench.ts'

/** What became of a mutant. */
export type Outcome =
  | Verdict
  /** It does not compile. */
  | { readonly status: 'stillborn' }
  /** The compiler makes the contract's own code of it. */
  | { readonly status: 'equivalent' }

export type Result = { readonly mutant: Mutant; readonly outcome: Outcome; readonly digest: string }

export type Campaign = {
  readonly mutants: readonly Mutant[]
  readonly program: Program
  readonly benches: readonly Workbench[]
  readonly memory: Memory
  /** Called after each mutant. */
  readonly onResult: (result: Result, done: number) => void
}

/** Code that answers nothing to every call, and is one byte long. */
const STOP: Code = { creation: '0x60016000f3', runtime: '0x00' }

async function tryOn(bench: Workbench, codes: readonly Code[]): Promise<Verdict> {
  bench.place(codes)
  for (const stage of STAGES) {
    const run = await bench.run(stage)
    if (run.status === 'failed') return { status: 'killed', by: run.by }
    if (run.status === 'timed out') return { status: 'timed out', by: stage.name }
  }
  return { status: 'survived' }
}

/**
 * Shows that the run means something: our compiler makes what forge makes, the tests pass on it, and they fail on code
 * that does nothing.
 * @returns digest of the contract's own code
 * @throws Error when one of these is not so
 */
export async function checkBench(bench: Workbench, program: Program): Promise<string> {
  const own = compileProgram(program)
  if (own.status === 'failed') throw new Error(own.error)
  const digest = codeDigest(own.codes)
  if (digest !== codeDigest(bench.codes())) {
    throw new Error(
      'what is compiled here is not what forge compiles: see scripts/mutation/compiler.ts',
    )
  }
  const verdict = await tryOn(bench, own.codes)
  if (verdict.status !== 'survived') {
    throw new Error(`the tests fail without a mutant: ${verdict.by}`)
  }
  const dead = await tryOn(
    bench,
    own.codes.map(() => STOP),
  )
  if (dead.status !== 'killed') throw new Error('the tests pass on a contract that does nothing')
  return digest
}

/** Tries the mutants of a campaign one by one; several lanes share it. */
class Trials {
  readonly #campaign: Campaign
  readonly #ownDigest: string
  readonly #running = new Map<string, Promise<Verdict>>()

  constructor(campaign: Campaign, ownDigest: string) {
    this.#campaign = campaign
    this.#ownDigest = ownDigest
  }

  async resultOf(mutant: Mutant, bench: Workbench, compiler: CompilerThread): Promise<Result> {
    const { program, memory } = this.#campaign
    const text = mutatedText(program.sources[mutant.file] ?? '', mutant)
    const textName = textDigest(program, mutant.file, text)
    const known = this.#known(memory.codeOf(textName))
    if (known) return { mutant, ...known }
    const compilation = await compiler.compile(mutant.file, text)
    const isCompiled = compilation.status === 'compiled'
    const digest = isCompiled ? codeDigest(compilation.codes) : null
    memory.keepCode(textName, digest)
    const settled = this.#known(digest)
    if (settled || digest === null || !isCompiled) {
      return { mutant, ...(settled ?? STILLBORN) }
    }
    const running = this.#running.get(digest)
    if (running) return { mutant, digest, outcome: await running }
    const trial = tryOn(bench, compilation.codes)
    this.#running.set(digest, trial)
    const outcome = await trial
    memory.keepVerdict(digest, outcome)
    return { mutant, digest, outcome }
  }

  /** What needs no trial. */
  #known(digest: string | null | undefined): Omit<Result, 'mutant'> | undefined {
    if (digest === undefined) return undefined
    if (digest === null) return STILLBORN
    if (digest === this.#ownDigest) return { digest, outcome: { status: 'equivalent' } }
    const outcome = this.#campaign.memory.verdictOf(digest)
    return outcome && { digest, outcome }
  }
}

const STILLBORN = { digest: '', outcome: { status: 'stillborn' } } as const

/** Tries every mutant of the campaign; results come back in the order of the mutants. */
export async function runCampaign(
  campaign: Campaign,
  ownDigest: string,
): Promise<readonly Result[]> {
  const { mutants, program, benches, onResult } = campaign
  const results: (Result | undefined)[] = mutants.map(() => undefined)
  const trials = new Trials(campaign, ownDigest)
  let next = 0
  let done = 0

  const work = async (bench: Workbench): Promise<void> => {
    const compiler = new CompilerThread(program)
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
