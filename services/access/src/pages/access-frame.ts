import { isoText } from '@tallystick/service-kit/clock'
import { html, type Page } from '@tallystick/service-kit/pages'

/** What every page of access has around it. */
export const ACCESS_FRAME: Pick<Page, 'brand' | 'nav'> = {
  brand: 'Tallystick access',
  nav: [
    { href: '/', label: 'Overview' },
    { href: '/agent', label: 'An agent' },
    { href: '/earnings', label: 'Earnings' },
  ],
}

/** A moment for people: `2026-11-29 09:30:05 UTC`. */
export const momentText = (unixSeconds: number): string =>
  isoText(unixSeconds).replace('T', ' ').replace('Z', ' UTC')

export const momentElement = (unixSeconds: number) =>
  html`<time datetime="${isoText(unixSeconds)}">${momentText(unixSeconds)}</time>`
