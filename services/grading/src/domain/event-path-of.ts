/** The event's path in a market key's text: its first two parts. */
export function eventPathOf(market: string): string {
  const end = market.indexOf('/', market.indexOf('/') + 1)
  return end === -1 ? market : market.slice(0, end)
}
