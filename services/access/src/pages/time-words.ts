/** A length of time for people, in its two largest units; the server and the script of a page say the same. */
const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** @example timeWords(3_725) // '1 h 2 min' */
export function timeWords(seconds: number): string {
  const first = UNITS.findIndex(([, size]) => seconds >= size)
  if (first < 0) return '0 s'
  let rest = seconds
  return UNITS.slice(first, first + 2)
    .map(([unit, size]) => {
      const count = Math.floor(rest / size)
      rest -= count * size
      return count === 0 ? '' : `${count} ${unit}`
    })
    .filter((words) => words !== '')
    .join(' ')
}
