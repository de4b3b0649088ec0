/** Leagues by the names that feeds give them: two names are one league only if the table says so, or if they are alike. */
import aliases from './team-aliases.json' with { type: 'json' }
import { plainText } from './team-names.ts'

/** A league's name without case, accents and punctuation. */
const plain = (name: string): string =>
  plainText(name)
    .split(/[^\p{L}\p{N}]+/u)
    .join(' ')
    .trim()

const GROUPS = new Map(
  Object.entries(aliases.leagues).map(([sport, groups]) => [
    sport,
    new Map(groups.flatMap((names, group) => names.map((name) => [plain(name), group] as const))),
  ]),
)

/** Whether two feeds' names are of one league. */
export function isSameLeague(sport: string, one: string, other: string): boolean {
  const [left, right] = [plain(one), plain(other)]
  if (left === right) return true
  const groups = GROUPS.get(sport)
  const group = groups?.get(left)
  return group !== undefined && group === groups?.get(right)
}
