/** The decimal places that bookmakers print. */
const PLACES_DEFAULT = 2

/** Decimal odds as text with a fixed number of places (0–15, default 2), rounded as `Number.prototype.toFixed` does. */
export function formatDecimalOdds(decimal: number, places: number = PLACES_DEFAULT): string {
  return decimal.toFixed(places)
}
