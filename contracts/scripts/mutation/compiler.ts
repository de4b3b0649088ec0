// solc-js as the mutation run uses it: forge's own settings, and sources in memory.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { contractsFolder } from '../foundry.ts'
import type { SyntaxNode } from './syntax-tree.ts'

/** The contract that the tests deploy, and whose artifact a mutant replaces. */
export const TARGET = { file: 'test/AccessWindowHarness.sol', contract: 'AccessWindowHarness' }

/** Text of each file, by its path from the package's folder. */
export type Sources = Readonly<Record<string, string>>

/** solc's settings without an output selection, as forge keeps them. */
export type Settings = { readonly optimizer: object }

/** The fields of solc's contract, and of forge's artifact, that a mutant replaces. */
export type Code = {
  readonly bytecode: { object: string }
  readonly deployedBytecode: { object: string }
}

/** Without sources or contracts if there are errors. */
type Output = {
  readonly sources?: Readonly<Record<string, { readonly ast: SyntaxNode }>>
  readonly contracts?: Readonly<Record<string, Readonly<Record<string, { readonly evm: Code }>>>>
}

type Import = (path: string) => { readonly contents: string }
type Solc = {
  readonly version: () => string
  readonly compile: (input: string, callbacks?: { readonly import: Import }) => string
}

const solc = createRequire(import.meta.url)('solc') as Solc

/** The compiler's version as solc's command line prints it; forge asks for nothing else once everything is built. */
export const solcVersion = (): string => solc.version().replace('.Emscripten.clang', '.Linux.g++')

function compile(sources: Sources, settings: object, find?: Import): Output {
  const contents = Object.entries(sources).map(([path, content]) => [path, { content }] as const)
  const input = { language: 'Solidity', sources: Object.fromEntries(contents), settings }
  return JSON.parse(solc.compile(JSON.stringify(input), find && { import: find })) as Output
}

/** The target with everything that it imports, and the syntax tree of each file. */
export function readProgram(): {
  readonly sources: Sources
  readonly trees: Readonly<Record<string, SyntaxNode>>
} {
  const sources: Record<string, string> = {}
  const read = (path: string): string => {
    const place = path.startsWith('@') ? `node_modules/${path}` : path
    const text = readFileSync(join(contractsFolder, place), 'utf8')
    sources[path] = text
    return text
  }
  const output = compile(
    { [TARGET.file]: read(TARGET.file) },
    { outputSelection: { '*': { '': ['ast'] } } },
    (path) => ({ contents: read(path) }),
  )
  const trees = Object.entries(output.sources ?? {}).map(([path, { ast }]) => [path, ast] as const)
  return { sources, trees: Object.fromEntries(trees) }
}

/** The target's code; undefined if the sources do not compile. */
export function compileTarget(sources: Sources, settings: Settings): Code | undefined {
  const { file, contract } = TARGET
  const selected = ['evm.bytecode.object', 'evm.deployedBytecode.object']
  const outputSelection = { [file]: { [contract]: selected } }
  const { contracts } = compile(sources, { ...settings, outputSelection })
  const code = contracts?.[file]?.[contract]?.evm
  return (
    code && {
      bytecode: { object: `0x${code.bytecode.object}` },
      deployedBytecode: { object: `0x${code.deployedBytecode.object}` },
    }
  )
}
