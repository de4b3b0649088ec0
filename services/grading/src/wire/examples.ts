/**
 * The example of each operation with a body, as the reference shows it. They belong together: the upload creates the
 * match that the others use, and examples.test.ts runs them in that order.
 */
const EVENT = 'soccer/epl.20260601.ars-che'

export const uploadExample = {
  events: [
    {
      event: EVENT,
      league: 'EPL',
      home: 'Arsenal',
      away: 'Chelsea',
      starts_at: '2026-06-01T18:00:00Z',
      snapshots: [
        {
          market: '1x2/ft',
          book: 'pinnacle',
          odds: { home: '2.12', draw: '3.50', away: '3.70' },
          captured_at: '2026-06-01T09:00:00Z',
        },
      ],
      closes: [
        {
          market: '1x2/ft',
          book: 'pinnacle',
          odds: { home: '2.05', draw: '3.55', away: '3.90' },
          captured_at: '2026-06-01T17:55:00Z',
        },
        {
          market: 'total/ft/2.5',
          book: 'pinnacle',
          odds: { over: '1.90', under: '2.00' },
          captured_at: '2026-06-01T17:55:00Z',
        },
      ],
      outcomes: [{ status: 'final' as const, score: { home: 2, away: 1 } }],
    },
  ],
}

export const gradeExample = {
  pick: { market: `${EVENT}/1x2/ft`, selection: 'home', odds: '1.90' },
}

/** Five picks, as in the worked case; the last is on a line that the close does not have. */
export const auditExample = {
  label: 'May tips',
  picks: [
    { market: `${EVENT}/1x2/ft`, selection: 'home', odds: '2.20' },
    { market: `${EVENT}/1x2/ft`, selection: 'draw', odds: 3.6 },
    { market: `${EVENT}/1x2/ft`, selection: 'away', odds: '29/10' },
    {
      market: { sport: 'soccer', event: 'epl.20260601.ars-che', type: 'total', period: 'ft' },
      line: 2.5,
      selection: 'over',
      odds: '-105',
      ref: 'tip 4',
    },
    { market: `${EVENT}/total/ft/3.5`, selection: 'over', odds: '2.90' },
  ],
}

export const calibrationExample = { filters: { population: 'mechanical' as const } }

export const coverageExample = { sport: 'soccer', date: '2026-06-01', text: 'Arsenal Chelsea' }

export const mcpExample = {
  jsonrpc: '2.0' as const,
  id: 1,
  method: 'tools/call',
  params: { name: 'coverage', arguments: { market: `${EVENT}/1x2/ft` } },
}
