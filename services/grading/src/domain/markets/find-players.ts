/**
 * Players by their surnames: `Sinner`, `J. Sinner` and `Sinner J.` are Jannik Sinner. There is no list of them: a surname
 * stands for the recorded player who has it, and for nobody if two of the matches around that time do.
 */
import type { EventInfo } from '../closes/event-state.ts'
import type { EventSearch, GradingStore } from '../closes/grading-store.ts'
import { isSameTeam, withoutAccents, wordsIn } from './team-names.ts'

/** Matches of one surname in three days: a player has one a day, and doubles. */
const MATCHES_MAX = 50

type Search = Pick<EventSearch, 'from' | 'to'>
type Named = { readonly home?: string; readonly away?: string }

/** Sports between two people. */
export const isOfPlayers = (sport: string): boolean => sport === 'tennis'

/** The word by which the index finds a name: the longest, since initials and particles are in many. */
function indexWord(name: string): string | undefined {
  const words = wordsIn(withoutAccents(name))
  return words.toSorted((left, right) => right.length - left.length)[0]
}

/** The recorded matches of all who may be the named player, and whether that is more than one. */
async function findMatches(
  store: Pick<GradingStore, 'searchEvents'>,
  sport: string,
  { name, ...window }: Search & { readonly name: string },
) {
  const word = indexWord(name)
  if (word === undefined) return { matches: [], isShared: false }
  const words = [word]
  const found = await store.searchEvents({ sport, ...window, words, limit: MATCHES_MAX })
  const players = new Set<string>()
  const matches = found.flatMap(({ info }) => {
    const named = [info.home, info.away].filter((player) => isSameTeam(sport, player, name))
    for (const player of named) players.add(player)
    return named.length === 0 ? [] : [info]
  })
  const [first = '', ...others] = players
  return { matches, isShared: others.some((other) => !isSameTeam(sport, first, other)) }
}

/**
 * The matches of two players in the recorded order, or of the one who is named. If a surname is that of several players,
 * all of their matches, so that none is taken for the one that was meant.
 */
export async function playerEvents(
  store: Pick<GradingStore, 'searchEvents'>,
  sport: string,
  { home, away, ...window }: Search & Named,
): Promise<readonly EventInfo[]> {
  const [ofHome, ofAway] = [
    home === undefined ? undefined : await findMatches(store, sport, { name: home, ...window }),
    away === undefined ? undefined : await findMatches(store, sport, { name: away, ...window }),
  ]
  const all = [...(ofHome?.matches ?? []), ...(ofAway?.matches ?? [])]
  const fitting = all.filter(
    (info) =>
      (home === undefined || isSameTeam(sport, info.home, home)) &&
      (away === undefined || isSameTeam(sport, info.away, away)),
  )
  const isShared = ofHome?.isShared === true || ofAway?.isShared === true
  return fitting.length > 0 && isShared ? all : fitting
}
