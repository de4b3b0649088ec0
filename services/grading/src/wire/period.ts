/** What of a match a market is on, as its key says: all of it, regulation, a half, quarter, period, inning or map. */
export const PERIOD = /^(?:ft|reg|h[12]|q[1-4]|p[1-3]|i[1-9]|f5|map[1-9])$/
