/** An audit by its receipt: the figures with every card, checked here entry by entry, and a link to share. */
import { fetchInTime, pageElement, put, Unreachable } from '@tallystick/service-kit/browser'
import { checkClose, checkSums, namedEntries } from '../../domain/audits/verify-audit.ts'
import type { AuditAnswer } from '../../wire/audit.ts'
import { counted, grouped } from '../figures.ts'
import { auditView } from './audit-view.ts'
import { putState } from './card-parts.ts'
import { CHECK_WORDS, type CheckOutcome, checkedEntry, checkItem, offerCode } from './checks.ts'
import { NotAnswered } from './page-api.ts'

/** Entries read at once: a thousand cards have some hundreds of closes. */
const AT_ONCE = 4

const receipt = location.pathname.split('/').at(-1) ?? ''
const path = `/api/audits/${encodeURIComponent(receipt)}`

type Tally = Map<string, Record<CheckOutcome, number>>

function count(tally: Tally, words: string, outcome: CheckOutcome): void {
  const counts = tally.get(words) ?? { holds: 0, fails: 0, hidden: 0, unread: 0 }
  counts[outcome] += 1
  tally.set(words, counts)
}

function showTally(tally: Tally): void {
  const items = [...tally].flatMap(([words, counts]) =>
    (['fails', 'unread', 'holds', 'hidden'] as const).flatMap((outcome) =>
      counts[outcome] === 0 ? [] : [checkItem(`${words}: ${grouped(counts[outcome])}`, outcome)],
    ),
  )
  pageElement('checks').replaceChildren(...items)
}

function verdictWords(counts: readonly Record<CheckOutcome, number>[], done: number): string {
  if (counts.some(({ fails }) => fails > 0))
    return 'Something does not hold: see the lines marked so.'
  if (counts.some(({ unread }) => unread > 0))
    return 'The service did not answer with everything: check again.'
  return `Everything that can be checked holds: ${counted(done, 'close')}.`
}

async function check(audit: AuditAnswer): Promise<void> {
  const button = pageElement('check', HTMLButtonElement)
  button.disabled = true
  const tally: Tally = new Map()
  for (const { holds, name } of checkSums(audit)) count(tally, name, holds ? 'holds' : 'fails')
  const closes = namedEntries(audit)
  let done = 0
  const work = async (): Promise<void> => {
    for (let next = closes.shift(); next !== undefined; next = closes.shift()) {
      const { seq } = next
      try {
        const { entry, checks } = await checkedEntry(seq)
        for (const { name, outcome } of checks) count(tally, CHECK_WORDS[name], outcome)
        for (const close of next.cards)
          count(tally, 'The card has the price of its entry', checkClose(close, entry))
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error
        count(tally, `Entry ${grouped(seq)}`, 'unread')
      }
      done += 1
      put('progress', `${counted(done, 'close')} checked…`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  showTally(tally)
  put('progress', verdictWords([...tally.values()], done))
  button.disabled = false
}

async function show(): Promise<void> {
  const answer = await fetchInTime(path)
  if (!answer.ok) throw new NotAnswered(answer.status)
  const audit = (await answer.json()) as AuditAnswer
  put(
    'state',
    'As the ledger knew it when this page was loaded: results that come in later change the figures.',
  )
  pageElement('audit').replaceChildren(auditView(audit))
  pageElement('audit-section').hidden = false
  pageElement('check-section').hidden = false
  pageElement('raw').setAttribute('href', path)
  pageElement('check').addEventListener('click', () => void check(audit))
}

pageElement('share').addEventListener('click', () => {
  navigator.clipboard?.writeText(location.href).then(
    () => put('progress', 'The link is copied. Whoever has it can read this audit.'),
    () => put('progress', 'This browser does not let pages copy: take the address above.'),
  )
})
offerCode('closes/verify-entry.js', 'audits/verify-audit.js')
show().catch((error) => {
  if (!(error instanceof Unreachable)) throw error
  putState('note warn', `The audit was not read. ${error.message}`)
})
