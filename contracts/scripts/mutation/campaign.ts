// Tries mutants against the tests, several at a time.
import {
  type Code,
  type Compilation,
  CompilerThread,
  compileProgram,
  type Program,
} from './compiler.ts'
import { codeDigest, type Memory, type Verdict } from './memory.ts'
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

/** Tries every mutant of the campaign; results come back in the order of the mutants. */
export async function runCampaign(
  campaign: Campaign,
  ownDigest: string,
): Promise<readonly Result[]> {
  const { mutants, program, memory } = campaign
  const results: (Result | undefined)[] = mutants.map(() => undefined)
  const tried = new Map<string, Promise<Verdict>>()
  let next = 0
  let done = 0

  const outcomeOf = async (
    bench: Workbench,
    compilation: Compilation,
  ): Promise<[string, Outcome]> => {
    if (compilation.status === 'failed') return ['', { status: 'stillborn' }]
    const digest = codeDigest(compilation.codes)
    if (digest === ownDigest) return [digest, { status: 'equivalent' }]
    const known = memory.get(digest) ?? tried.get(digest)
    if (known) return [digest, await known]
    const verdict = tryOn(bench, compilation.codes)
    tried.set(digest, verdict)
    memory.set(digest, await verdict)
    return [digest, await verdict]
  }

  const work = async (bench: Workbench): Promise<void> => {
    const compiler = new CompilerThread(program)
    try {
      for (let index = next++; index < mutants.length; index = next++) {
        const mutant = mutants[index]
        if (!mutant) break
        const text = mutatedText(program.sources[mutant.file] ?? '', mutant)
        const [digest, outcome] = await outcomeOf(bench, await compiler.compile(mutant.file, text))
        const result = { mutant, outcome, digest }
        results[index] = result
        campaign.onResult(result, ++done)
      }
    } finally {
      await compiler.close()
    }
  }

  await Promise.all(campaign.benches.map(work))
  return results.filter((result) => result !== undefined)
}
