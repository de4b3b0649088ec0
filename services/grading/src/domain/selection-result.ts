/** How a selection was settled, where no score says it. */
export type SelectionResult =
  | { readonly result: 'won' | 'half_won' | 'push' | 'half_lost' | 'lost' | 'void' }
  /** `tied` selections share `places` paid places. */
  | { readonly result: 'dead_heat'; readonly places: number; readonly tied: number }

/** The scoreboard, from the ledger's results only. */
export type Scoreboard =
  | { readonly status: 'pending' }
  | {
      readonly status: SelectionResult['result']
      /** Profit per unit of a flat stake. */
      readonly return_units: number
      /** `2-1`, where the result came from a score. */
      readonly score?: string
    }
