/** The overview: live figures from the public API, refreshed while the page is visible. */
import {
  offerCopies,
  pageElement,
  pageFact,
  put,
  Unreachable,
} from '@tallystick/service-kit/browser'
import type { CalibrationRow } from '../../wire/calibration.ts'
import { counted, grouped, number, percentInterval, signedPercent } from '../figures.ts'
import { putState } from './card-parts.ts'
import { cardView } from './card-view.ts'
import { readCalibration, readCheckpoint } from './page-api.ts'

const REFRESH_MS = 10_000

function showBand({ band, n, roi, roi_ci95: interval, low_sample: isLow }: CalibrationRow): void {
  const tile = document.querySelector(`#bands > [data-band="${CSS.escape(band)}"]`)
  const [strong, small] = [tile?.querySelector('strong'), tile?.querySelector('small')]
  if (strong == null || small == null) return
  strong.textContent = roi === null ? '–' : signedPercent(roi)
  const picks = counted(n, 'settled pick')
  small.textContent =
    interval === null
      ? picks
      : `${percentInterval(interval)}, ${picks}${isLow ? ', low sample' : ''}`
}

async function showFigures(): Promise<void> {
  const { columns, ledger } = await readCalibration({ basis: 'fair', population: 'mechanical' })
  const [column] = columns
  if (column === undefined) return
  const { bands, line, scope, total } = column
  pageElement('synthetic').hidden = scope !== 'synthetic'
  put('entries', grouped(ledger.as_of_seq))
  put('settled', grouped(total.n))
  put('events', grouped(total.events))
  put('slope', line === null ? 'not known yet' : `${number(line.slope)} points`)
  for (const row of bands) showBand(row)
  put('bands-note', total.n === 0 ? 'No pick has settled yet.' : '')
  readAt = new Date().toLocaleTimeString()
  put('now-title', 'Right now')
  putState('hint', `As of ledger entry ${grouped(ledger.as_of_seq)}, read at ${readAt}.`)
}

/** When the figures were read; empty before. */
let readAt = ''

function showNoFigures(error: unknown): void {
  if (!(error instanceof Unreachable)) throw error
  put('now-title', readAt === '' ? 'Not read yet' : `As it was at ${readAt}`)
  putState('note warn', `${error.message} Trying again…`)
}

async function showCheckpoint(): Promise<void> {
  const checkpoint = await readCheckpoint()
  if (checkpoint === undefined) return
  put('root', checkpoint.root)
  put('signer', checkpoint.signer)
}

async function refresh(): Promise<void> {
  if (document.visibilityState === 'visible') {
    const parts = [showFigures().catch(showNoFigures), showCheckpoint()]
    for (const part of await Promise.allSettled(parts))
      if (part.status === 'rejected') reportError(part.reason)
  }
  setTimeout(() => void refresh(), REFRESH_MS)
}

pageElement('example').append(cardView(JSON.parse(pageFact('example-card')), { isExample: true }))
offerCopies()
void refresh()
