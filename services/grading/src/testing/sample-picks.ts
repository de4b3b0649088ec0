/** Picks for tests. */
import { parseOdds } from '@tallystick/odds'
import { parseMarket } from '../domain/parse-market.ts'
import {
  DEFAULT_GRADE_OPTIONS,
  type GradeOptions,
  type PickRequest,
} from '../domain/pick-request.ts'

/** A pick on the sample match; throws where a test wrote no market or price. */
export function samplePick(
  over: {
    readonly market?: string
    readonly selection?: string
    readonly odds?: string | number
    readonly options?: Partial<GradeOptions>
    readonly placedAtSeconds?: number
    readonly fieldSize?: number
  } = {},
): PickRequest {
  const parsed = parseMarket({
    market: over.market ?? 'soccer/epl.20260601.ars-che/1x2/ft',
    selection: over.selection ?? 'home',
  })
  const odds = parseOdds(over.odds ?? '2.20')
  if (parsed.kind !== 'market' || odds.kind !== 'odds')
    throw new Error('the test’s pick is no pick')
  return {
    kind: 'pick',
    key: parsed.key,
    selection: parsed.selection,
    odds,
    options: { ...DEFAULT_GRADE_OPTIONS, ...over.options },
    ...(over.placedAtSeconds === undefined ? {} : { placedAtSeconds: over.placedAtSeconds }),
    ...(over.fieldSize === undefined ? {} : { fieldSize: over.fieldSize }),
  }
}
