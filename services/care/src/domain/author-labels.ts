/**
 * Whose name is shown under a write where a bearer writer must be its author (C46): the operator's table says it, or the token's
 * `name`, or else it is the principal itself. Never the body.
 */
import { z } from 'zod'
import { foldAlike } from '../wire/reads-as.ts'
import { isSeen, isWritableLine } from '../wire/text-of-others.ts'
import { TEXT_BYTES_MAX } from '../wire/write-limits.ts'

/** One line, so that it can stand in a sentence. */
const isLabel = (text: string): boolean =>
  isSeen(text) &&
  text.isWellFormed() &&
  isWritableLine(text) &&
  Buffer.byteLength(text) <= TEXT_BYTES_MAX

/** What a reader or a listener takes for the same name: its letters and digits, whatever they are made of, and nothing else. */
function heardAs(label: string): string {
  const seen = foldAlike(label.normalize('NFKC')).toLowerCase()
  return seen.replace(/[^\p{L}\p{M}\p{N}]/gu, '') || seen
}

const hasNoRepeats = (table: ReadonlyMap<string, string>): boolean =>
  new Set([...table.values()].map(heardAs)).size === table.size

/** `AUTHOR_LABELS`: labels by principal, each of one principal alone. */
export const authorLabelTable = z
  .record(z.string().min(1), z.string().refine(isLabel))
  .transform((table): ReadonlyMap<string, string> => new Map(Object.entries(table)))
  .refine(hasNoRepeats)

/** The label of a writer's own; undefined if it, or the one that the body gives, is another principal's. */
export type OwnLabel = (writer: {
  readonly sub: string
  /** Of the token, which its issuer signed. */
  readonly name?: string | undefined
  /** In the body. */
  readonly claimed: string | undefined
}) => string | undefined

export function createOwnLabels(table: ReadonlyMap<string, string>): OwnLabel {
  const owners = new Map<string, string>()
  for (const sub of table.keys()) owners.set(heardAs(sub), sub)
  for (const [sub, label] of table) owners.set(heardAs(label), sub)
  return ({ sub, name, claimed = '' }) => {
    const byToken = name !== undefined && isLabel(name) ? name : sub
    const own = table.get(sub) ?? byToken
    const isFree = (label: string): boolean => (owners.get(heardAs(label)) ?? sub) === sub
    return isFree(own) && isFree(claimed) ? own : undefined
  }
}
