/**
 * The page of one agent, for people who would rather look than read: its window as bars that run down, its money, and what
 * happened. All of it is written here, so that it needs no script; `browser/agent.ts` only lets the time run and asks again.
 */
import { type Html, html, type Page } from '@tallystick/service-kit/pages'
import { formatHbar } from '@tallystick/x402/hedera'
import type { Hex } from '../domain/access-window.ts'
import type { AgentEvent, EventsRead } from '../domain/agent-history.ts'
import { accessErrors, dependencyAnswer } from '../errors.ts'
import type { Status } from '../wire/access-answers.ts'
import { agentQuery } from '../wire/access-requests.ts'
import { ACCESS_FRAME, momentElement, momentText } from './access-frame.ts'
import { timeWords } from './time-words.ts'

export type AgentPageDeps = {
  readonly readStatus: (agent: Hex) => Promise<Status>
  readonly readEvents: (agent: Hex) => Promise<EventsRead>
  /** How far the mirror node is behind the ledger, seconds, where that is more than usual. */
  readonly mirrorBehindSeconds: () => number | undefined
}

/** Squares of the picture of renewals. */
const SQUARES = 12

const ASK = (
  agent: string,
): Html => html`<section aria-label="Which agent"><form action="/agent" class="row end">
<div class="field"><label for="agent">Agent: an EVM address</label>
<input id="agent" name="agent" class="mono" value="${agent}" size="44" pattern="0x[0-9a-fA-F]{40}" required spellcheck="false" autocomplete="off"></div>
<button class="main">Show</button>
</form></section>`

const FRAME = {
  ...ACCESS_FRAME,
  path: '/agent',
  hasForm: true,
  title: 'An agent – Tallystick access',
  heading: 'An agent’s window',
  lead: 'What the ledger says of one agent: how long its window is open, what is left of it, and what happened.',
} satisfies Page

/** `text` is what the query names as the agent, if anything. */
export async function agentPage(deps: AgentPageDeps, text: unknown): Promise<Page> {
  if (text === undefined) return { ...FRAME, body: ASK('') }
  const parsed = agentQuery.safeParse({ agent: text })
  if (!parsed.success) {
    const body = html`${ASK(typeof text === 'string' ? text : '')}<p class="note warn">This is no EVM address: 0x and 40 hex digits. Nothing was read.</p>`
    return { ...FRAME, status: accessErrors.invalid_agent.status, body }
  }
  const { agent } = parsed.data
  const { sections, status } = await readSections(deps, agent)
  return {
    ...FRAME,
    status,
    body: html`${ASK(agent)}
<p class="hint" id="silence" role="status"></p>
<div id="live">${sections}</div>`,
    script: '/pages/agent.js',
  }
}

/** The window first: which renewals are the agent's is known from it. */
async function readSections(deps: AgentPageDeps, agent: Hex) {
  try {
    const status = await deps.readStatus(agent)
    const events = await deps.readEvents(agent)
    return {
      status: 200,
      sections: [windowSection(status), eventsSection(events, deps.mirrorBehindSeconds())],
    }
  } catch (error) {
    const answer = dependencyAnswer(error)
    if (answer === undefined) throw error
    const { meaning } = accessErrors[answer.error as keyof typeof accessErrors]
    const sections = html`<section><p class="note bad">The window was not read. ${meaning} Nothing is known of it here until the page is loaded again.</p></section>`
    return { status: answer.status, sections }
  }
}

/** A picture beside its words, which say the same. `part` is from 0 to 1. */
function bar(name: string, part: number, { id = '', words = '' }): Html {
  const width = 100 * Math.min(1, Math.max(0, part))
  return html`<div class="bar-row"><span>${name}</span>
<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="10"/><rect class="filled" id="${id}-bar" width="${width}" height="10"/></svg>
<strong id="${id}">${words}</strong></div>`
}

function squares(name: string, count: number): Html {
  const shown = Array.from(
    { length: SQUARES },
    (_, at) =>
      html`<rect class="${at < count ? 'filled' : 'track'}" x="${at * 10 + 0.5}" y="0.5" width="8" height="8"/>`,
  )
  return html`<div class="bar-row"><span>${name}</span>
<svg class="bar" viewBox="0 0 120 9" preserveAspectRatio="xMinYMid" aria-hidden="true">${shown}</svg>
<strong>${count} to come</strong></div>`
}

function windowSection(status: Status): Html {
  const { expiresAt, periodSeconds, periodsFunded, secondsRemaining, usage } = status
  const left = `${timeWords(secondsRemaining)} of ${timeWords(periodSeconds)}`
  const { callsAllowed = 0, callsRemaining = 0 } = usage ?? {}
  const exists = expiresAt > 0
  return html`<section aria-labelledby="window-title"><h2 id="window-title">Its window at ${momentElement(status.now)}</h2>
<p class="mono">${status.agent}</p>
<p class="note ${status.hasAccess && status.ended === null ? 'good' : 'warn'}">${stateWords(status)}</p>
${
  exists &&
  html`<div class="card bars" id="bars" data-left="${secondsRemaining}" data-period="${periodSeconds}">
${bar('Time left', secondsRemaining / periodSeconds, { id: 'time-left', words: left })}
${bar('Calls left', callsRemaining / Math.max(1, callsAllowed), { id: 'calls-left', words: `${callsRemaining} of ${callsAllowed}` })}
${squares('Renewals', periodsFunded)}
</div>
<dl class="figures">
${hbarFigure('Balance', status.balanceTinybar)}
${hbarFigure('Price of a window', status.pricePerPeriodTinybar)}
<div><dt>Paid for until</dt><dd>${momentElement(expiresAt + periodsFunded * periodSeconds)}</dd></div>
</dl>`
}</section>`
}

const hbarFigure = (label: string, tinybar: string): Html =>
  html`<div><dt>${label}</dt><dd>${formatHbar(BigInt(tinybar))}<small>${tinybar} tinybar</small></dd></div>`

function stateWords({ active, ended, expiresAt, hasAccess, periodsFunded }: Status): string {
  if (ended !== null) return ended.sentence
  if (expiresAt === 0) return 'This address has no window here, and never had one.'
  const at = momentText(expiresAt)
  if (!hasAccess) return `Closed since ${at}; why is not known just now.`
  if (!active) return `Cancelled: open until ${at}, then it is not renewed.`
  return periodsFunded > 0
    ? `Open: calls are served. It renews itself at ${at}.`
    : `Open: calls are served until ${at}. No further window is paid for.`
}

function eventsSection(read: EventsRead, behindSeconds: number | undefined): Html {
  return html`<section aria-labelledby="events-title"><h2 id="events-title">What happened</h2>
${eventList(read)}
${
  behindSeconds !== undefined &&
  html`<p class="note warn">The mirror node, which tells this, is ${timeWords(behindSeconds)} behind the ledger: what happened since is missing.</p>`
}</section>`
}

function eventList(read: EventsRead): Html {
  switch (read.kind) {
    case 'unread':
      return html`<p class="note warn">This was not read: the mirror node does not answer, or has too many requests. The window above is true all the same. Load the page again in a minute.</p>`
    case 'too-many':
      return html`<p class="note warn">This was not read: too many agents are looked at just now. Load the page again in a few seconds.</p>`
    case 'read': {
      const items = read.events.map(
        (event) =>
          html`<li data-kind="${event.kind}">${momentElement(event.atSeconds)} ${eventWords(event)}</li>`,
      )
      if (items.length === 0) return html`<p>Nothing in the last seven days.</p>`
      return html`<p class="hint">In the last seven days, newest first; of many renewals the last ones. Seconds may pass before something is seen here.</p>
<ol class="timeline" role="list">${items}</ol>`
    }
    default:
      return read satisfies never
  }
}

function eventWords(event: AgentEvent): string {
  switch (event.kind) {
    case 'opened':
      return `Opened, to ${momentText(event.windowEndsAtSeconds)}; ${formatHbar(event.balanceTinybar)} were left.`
    case 'topped-up':
      return event.addedTinybar === 0n
        ? `What had waited became windows; the balance was ${formatHbar(event.balanceTinybar)}.`
        : `${formatHbar(event.addedTinybar)} came in; the balance was ${formatHbar(event.balanceTinybar)}.`
    case 'renewed':
      return `Renewed, to ${momentText(event.windowEndsAtSeconds)}.`
    case 'cancelled':
      return `Cancelled; ${formatHbar(event.refundTinybar)} can be claimed back.`
    case 'claimed':
      return `${formatHbar(event.refundTinybar)} were claimed back.`
    case 'guard-set':
      return event.isGuarded
        ? 'Guarded: calls must prove the agent’s key.'
        : 'No longer guarded: whoever knows the address may use the window.'
    case 'calls-refused':
      return `${event.calls} call${event.calls === 1 ? ' was' : 's were'} not counted: beyond the quota, or in no paid window.`
    default:
      return event satisfies never
  }
}
