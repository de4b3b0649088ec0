// The tracked list of mutants that no test tells from the contract, each with the reason why that is acceptable.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contractsFolder } from '../foundry.ts'
import type { Result } from './results.ts'

/** Path of the list from the package's folder: `[{ "reason": "…", "mutants": ["key", …] }]`. */
export const SURVIVORS_FILE = 'mutation-survivors.json'

/** The reason for each accepted survivor, by the mutant's key. */
type Reasons = ReadonlyMap<string, string>

/** How the results and the list differ. */
export type Review = {
  /** Survivors missing from the list: they need a test or a reason. */
  readonly unexplained: readonly Result[]
  /** Listed keys that name no mutant, or one that does not survive. A stopped mutant proves neither. */
  readonly stale: readonly string[]
}

/** @throws Error if a mutant is listed twice or without a reason. */
export function readReasons(): Reasons {
  type Entry = { readonly reason: string; readonly mutants: readonly string[] }
  const entries = JSON.parse(
    readFileSync(join(contractsFolder, SURVIVORS_FILE), 'utf8'),
  ) as readonly Entry[]
  const reasons = new Map<string, string>()
  for (const { reason, mutants } of entries) {
    for (const key of mutants) {
      if (reason.trim() === '') throw new Error(`${SURVIVORS_FILE}: no reason for ${key}`)
      if (reasons.has(key)) throw new Error(`${SURVIVORS_FILE}: twice: ${key}`)
      reasons.set(key, reason)
    }
  }
  return reasons
}

/**
 * Compares a run with the list.
 * @param keys keys of all current mutants, tried or not
 */
export function reviewSurvivors(
  results: readonly Result[],
  reasons: Reasons,
  keys: ReadonlySet<string>,
): Review {
  const survivors = results.filter(({ outcome }) => outcome.status === 'survived')
  const survived = new Set(survivors.map(({ mutant }) => mutant.key))
  const settled = results.filter(({ outcome }) => outcome.status !== 'timed out')
  const judged = new Set(settled.map(({ mutant }) => mutant.key))
  return {
    unexplained: survivors.filter(({ mutant }) => !reasons.has(mutant.key)),
    stale: [...reasons.keys()].filter(
      (key) => !keys.has(key) || (judged.has(key) && !survived.has(key)),
    ),
  }
}
