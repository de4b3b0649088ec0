// What a run has found out about mutants, one line of JSON each in cache/mutation/, so that a stopped run resumes where it
// was. The file's name stands for everything that decides an outcome: when any of it changes, all is tried again.
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { contractsFolder, forge } from '../foundry.ts'
import { solcVersion } from './compiler.ts'
import type { Mutant } from './mutant.ts'
import type { Verdict } from './workbench.ts'

export type Outcome =
  | Verdict
  /** It does not compile. */
  | { readonly status: 'stillborn' }

export type Result = { readonly mutant: Mutant; readonly outcome: Outcome }

/** Everything that decides an outcome, beside the versions of forge, solc and the libraries. */
const INPUTS = '{src,test,devnet,scripts/mutation,scripts/foundry.ts,foundry.toml}'
/** Names the versions of the libraries that the contract and its tests import. */
const LOCKFILE = join(contractsFolder, '../pnpm-lock.yaml')

function inputsDigest(): string {
  const hash = createHash('sha256')
    .update(solcVersion())
    .update(forge(['--version']).stdout)
    .update(readFileSync(LOCKFILE))
  for (const path of globSync([INPUTS, `${INPUTS}/**`], { cwd: contractsFolder }).toSorted()) {
    const file = join(contractsFolder, path)
    if (statSync(file).isFile()) hash.update(path).update('\0').update(readFileSync(file))
  }
  return hash.digest('hex').slice(0, 32)
}

/** The outcomes known so far, by the mutant's key. */
export class Outcomes {
  readonly #known = new Map<string, Outcome>()
  readonly #file: string

  constructor() {
    const folder = join(contractsFolder, 'cache/mutation')
    mkdirSync(folder, { recursive: true })
    this.#file = join(folder, `${inputsDigest()}.jsonl`)
    if (!existsSync(this.#file)) return
    for (const line of readFileSync(this.#file, 'utf8').split('\n').filter(Boolean)) {
      const [key, outcome] = JSON.parse(line) as [string, Outcome]
      this.#known.set(key, outcome)
    }
  }

  of(key: string): Outcome | undefined {
    return this.#known.get(key)
  }

  keep(key: string, outcome: Outcome): void {
    if (this.#known.has(key)) return
    this.#known.set(key, outcome)
    appendFileSync(this.#file, `${JSON.stringify([key, outcome])}\n`)
  }
}
