import type { Range } from './syntax-tree.ts'

/** The kinds of change, in the order of the report. */
export const OPERATORS = [
  'arithmetic',
  'comparison',
  'boolean',
  'bound ± 1',
  'constant × 2, ÷ 2',
  'revert removed',
  'modifier removed',
  'assignment removed',
  'statement removed',
  'event removed',
] as const

export type Operator = (typeof OPERATORS)[number]

/** One change of one place in a file. */
export type Edit = {
  readonly operator: Operator
  readonly range: Range
  readonly replacement: string
}

/** A source file with one edit. */
export type Mutant = Edit & {
  /** Names the mutant without line numbers, so that an edit elsewhere does not rename it. */
  readonly key: string
  /** Path from the package's folder. */
  readonly file: string
  readonly line: number
}

/** The text of the mutated file. */
export function mutatedText(text: string, { range, replacement }: Edit): string {
  const bytes = Buffer.from(text)
  return Buffer.concat([
    bytes.subarray(0, range.start),
    Buffer.from(replacement),
    bytes.subarray(range.end),
  ]).toString()
}
