import { civilDay } from '../domain/iso-time.ts'

/** A name as ids write it: lower case, no accents, dashes for everything else. */
export function nameSlug(name: string): string {
  return name
    .normalize('NFD')
    .replace(/\p{Diacritic}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

/** The id of an event from what its feed calls it: `england-1.20240423.arsenal-chelsea`. */
export function eventSlug(event: {
  readonly league: string
  readonly daySeconds: number
  readonly home: string
  readonly away: string
}): string {
  const { year, month, day } = civilDay(event.daySeconds)
  const date = `${year}${String(month).padStart(2, '0')}${String(day).padStart(2, '0')}`
  return `${nameSlug(event.league)}.${date}.${nameSlug(event.home)}-${nameSlug(event.away)}`
}
