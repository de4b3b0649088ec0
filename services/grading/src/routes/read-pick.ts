import { type OddsRefusal, parseOdds } from '@tallystick/odds'
import type { RequestIssue } from '@tallystick/service-kit'
import { isoSeconds } from '../domain/iso-time.ts'
import { knownMarket } from '../domain/known-market.ts'
import { type AskedPick, DEFAULT_GRADE_OPTIONS, type GradeOptions } from '../domain/pick-request.ts'
import type { WireOptions, WirePick } from '../wire/requests.ts'

const EXPECTED_ODDS: Readonly<Record<OddsRefusal, string>> = {
  type: 'decimal odds as a number, or odds as text',
  format: 'decimal (2.10), fractional (11/10) or American (+110) odds',
  not_finite: 'a finite number',
  not_above_one: 'odds above 1: at 1 or less nothing is won',
  above_limit: 'odds of at most 1000000',
  american_below_100: 'American odds at or beyond +100 or -100',
}

export const gradeOptionsOf = (options: WireOptions | undefined): GradeOptions =>
  options === undefined
    ? DEFAULT_GRADE_OPTIONS
    : {
        method: options.method ?? DEFAULT_GRADE_OPTIONS.method,
        basis: options.basis ?? DEFAULT_GRADE_OPTIONS.basis,
        ...(options.reference === undefined ? {} : { reference: options.reference }),
      }

/** A pick of the right shape, read into the domain's: or what in it is malformed, whatever the ledger knows (G3). */
export function readPick(
  pick: WirePick,
  { field, options }: { readonly field: string; readonly options: GradeOptions },
): AskedPick | readonly RequestIssue[] {
  const issues: RequestIssue[] = []
  const odds = parseOdds(pick.odds)
  if (odds.kind === 'refused')
    issues.push({ field: `${field}.odds`, expected: EXPECTED_ODDS[odds.reason] })
  const placed = pick.placed_at === undefined ? undefined : isoSeconds(pick.placed_at)
  if (pick.placed_at !== undefined && placed === undefined)
    issues.push({
      field: `${field}.placed_at`,
      expected: 'an ISO 8601 time with its zone, such as 2026-06-01T18:00:00Z',
    })
  const market = knownMarket(pick)
  if (market.kind === 'malformed')
    issues.push({ field: `${field}.${market.path}`, expected: market.expected })
  if (odds.kind === 'refused' || market.kind === 'malformed' || issues.length > 0) return issues
  if (market.kind === 'ambiguous')
    return {
      kind: 'ambiguous',
      market: typeof pick.market === 'string' ? pick.market : JSON.stringify(pick.market),
      selection: pick.selection,
      candidates: market.candidates,
      ...(pick.ref === undefined ? {} : { ref: pick.ref }),
    }
  const { key, selection } = market
  const { field_size: fieldSize, ref } = pick
  const read: AskedPick = { kind: 'pick', key, selection, odds, options }
  // Most picks have none of these, and members spread in on a condition cost as much as all that was read.
  if (placed === undefined && fieldSize === undefined && ref === undefined) return read
  return {
    ...read,
    ...(placed === undefined ? {} : { placedAtSeconds: placed }),
    ...(fieldSize === undefined ? {} : { fieldSize }),
    ...(ref === undefined ? {} : { ref }),
  }
}
