/** Market keys in words: `soccer/epl.20240423.ars-che/ah/ft/-0.75` → `Asian handicap −0.75`. */

/** @type {Record<string, string>} */
const TYPES = {
  '1x2': 'Match result',
  ml: 'Winner',
  dnb: 'Draw no bet',
  dc: 'Double chance',
  ah: 'Asian handicap',
  spread: 'Spread',
  total: 'Total',
  team_total: 'Team total',
  btts: 'Both teams to score',
  cs: 'Correct score',
  outright: 'Outright',
}

/** @type {Record<string, string>} */
const PERIODS = { ft: '', reg: 'regulation', h1: 'first half', h2: 'second half' }

/**
 * @typedef {object} KeyParts
 * @property {string} event Sport and event, what the ledger files under.
 * @property {string} type
 * @property {string} period
 * @property {string | undefined} line
 * @property {string | undefined} participant
 */

/**
 * A key's parts; undefined for a text of another form.
 *
 * @param {string} key
 * @returns {KeyParts | undefined}
 */
export function keyParts(key) {
  const [path = '', participant] = key.trim().split('@')
  const [sport, event, type, period, line, ...rest] = path.split('/')
  if (!sport || !event || !type || !period || rest.length > 0) return undefined
  return { event: `${sport}/${event}`, type, period, line, participant }
}

/** @param {string} name */
const words = (name) => name.replaceAll(/[-_.]+/g, ' ')

/**
 * What a market is, without its event.
 *
 * @param {string} key
 */
export function marketWords(key) {
  const parts = keyParts(key)
  if (parts === undefined) return key
  const { type, period, line, participant } = parts
  const name = TYPES[type] ?? words(type.replace(/^prop:/, ''))
  const when = PERIODS[period] ?? period.toUpperCase()
  const shownLine = line?.startsWith('-') === true ? `−${line.slice(1)}` : line
  return [name, shownLine, participant === undefined ? '' : `(${words(participant)})`, when]
    .filter(Boolean)
    .join(' ')
}

/**
 * The selections of a key's type by the table that the page carries; none where every market has its own.
 *
 * @param {string} key
 * @param {Readonly<Record<string, readonly string[]>>} byType
 */
export const selectionsOf = (key, byType) => byType[keyParts(key)?.type ?? ''] ?? []

/**
 * A selection in words, with the team where the event is known.
 *
 * @param {string} selection
 * @param {{ home: string, away: string } | undefined} event
 */
export function selectionWords(selection, event) {
  if (selection === 'home') return event === undefined ? 'Home' : `${event.home} (home)`
  if (selection === 'away') return event === undefined ? 'Away' : `${event.away} (away)`
  const text = words(selection)
  return text.charAt(0).toUpperCase() + text.slice(1)
}
