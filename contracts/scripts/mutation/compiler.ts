// solc-js as the mutation run uses it: the project's own settings, sources in memory, and its own thread.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { contractsFolder } from '../foundry.ts'
import type { SyntaxNode } from './syntax-tree.ts'

/** A contract whose artifact a mutant replaces. */
type Target = { readonly source: string; readonly contract: string }

/** What the tests deploy, and so all that a mutant's compilation needs. */
export const TARGETS: readonly Target[] = [
  { source: 'test/AccessWindowHarness.sol', contract: 'AccessWindowHarness' },
]

/** Text of each file, by its path from the package's folder. */
type Sources = Readonly<Record<string, string>>

/** The compiler's input: all sources of the targets, and solc's settings as forge keeps them. */
export type Program = { readonly sources: Sources; readonly settings: object }

/** Code of one target, hex with 0x. */
export type Code = { readonly creation: string; readonly runtime: string }

/** solc's result for a program: each target's code, in order, or its first error. */
type Compilation =
  | { readonly status: 'compiled'; readonly codes: readonly Code[] }
  | { readonly status: 'failed'; readonly error: string }

type Output = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly sources?: Readonly<Record<string, { readonly ast: SyntaxNode }>>
  readonly contracts?: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly evm: {
              readonly bytecode: { readonly object: string }
              readonly deployedBytecode: { readonly object: string }
            }
          }
        >
      >
    >
  >
}

type Import = (path: string) => { readonly contents: string }
type Solc = {
  readonly version: () => string
  readonly compile: (input: string, callbacks?: { readonly import: Import }) => string
}

const loadSolc = (): Solc => createRequire(import.meta.url)('solc') as Solc

/** The compiler's version as solc's command line prints it; forge asks for nothing else once everything is built. */
export const solcVersion = (): string =>
  loadSolc().version().replace('.Emscripten.clang', '.Linux.g++')

const readSource = (path: string): string =>
  readFileSync(join(contractsFolder, path.startsWith('@') ? `node_modules/${path}` : path), 'utf8')

function errorOf(output: Output): string | undefined {
  return output.errors?.find(({ severity }) => severity === 'error')?.formattedMessage
}

/**
 * Reads the targets with everything they import, and their syntax trees.
 * @param settings solc's settings without an output selection
 * @throws Error if the sources do not compile
 */
export function readProgram(settings: object): {
  readonly program: Program
  readonly trees: Readonly<Record<string, SyntaxNode>>
} {
  const read: Record<string, string> = {}
  const take = (path: string): string => (read[path] = readSource(path))
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(TARGETS.map(({ source }) => [source, { content: take(source) }])),
    settings: { ...settings, outputSelection: { '*': { '': ['ast'] } } },
  }
  const answer = loadSolc().compile(JSON.stringify(input), {
    import: (path) => ({ contents: take(path) }),
  })
  const output = JSON.parse(answer) as Output
  const error = errorOf(output)
  if (error !== undefined || !output.sources) throw new Error(error ?? 'solc gave no syntax tree')
  const trees = Object.fromEntries(
    Object.entries(output.sources).map(([path, { ast }]) => [path, ast]),
  )
  return { program: { sources: read, settings }, trees }
}

/** Compiles the targets of a program. */
export function compileProgram({ sources, settings }: Program): Compilation {
  const selected = ['evm.bytecode.object', 'evm.deployedBytecode.object']
  const outputSelection = Object.fromEntries(
    TARGETS.map(({ source, contract }) => [source, { [contract]: selected }]),
  )
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(
      Object.entries(sources).map(([path, content]) => [path, { content }]),
    ),
    settings: { ...settings, outputSelection },
  }
  const output = JSON.parse(loadSolc().compile(JSON.stringify(input))) as Output
  const error = errorOf(output)
  if (error !== undefined) return { status: 'failed', error }
  const codes = TARGETS.map(({ source, contract }) => {
    const evm = output.contracts?.[source]?.[contract]?.evm
    if (!evm) throw new Error(`solc gave no code of ${contract}`)
    return {
      creation: `0x${evm.bytecode.object}`,
      runtime: `0x${evm.deployedBytecode.object}`,
    }
  })
  return { status: 'compiled', codes }
}

/** The same program without the optimizer: it compiles in a third of the time and behaves the same for more gas. */
export const draftOf = ({ sources, settings }: Program): Program => ({
  sources,
  settings: { ...settings, optimizer: { enabled: false } },
})

/** A compiler in its own thread: one program at a time. */
export class CompilerThread {
  readonly #worker = new Worker(new URL('./compiler-thread.ts', import.meta.url))

  /** @throws Error if the thread dies. */
  async compile(program: Program): Promise<Compilation> {
    const answer = once(this.#worker, 'message') // rejects when the thread fails
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage(program)
    const [compilation] = (await answer) as [Compilation]
    return compilation
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}
