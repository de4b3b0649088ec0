import { BadUsage, type CommandCall } from '@tallystick/service-kit/command'
import { withSideRows } from '../adapters/open-stores.ts'
import { readAuditRows } from '../adapters/rows/audit-rows.ts'
import { listEventSubscriptions } from '../adapters/rows/event-subscriptions.ts'
import { readReadRows } from '../adapters/rows/read-trail.ts'
import { chainUri } from '../wire/record-uri.ts'
import { lineText } from '../wire/text-of-others.ts'
import { listVerb, slotOption, storePlace } from './command-config.ts'

const ROWS_DEFAULT = 50

/** Which rows a verb lists. Throws BadUsage. */
const readPageOptions = (call: CommandCall) => ({
  limit: wholeNumber(call.text('limit'), '--limit') ?? ROWS_DEFAULT,
  before: wholeNumber(call.text('before'), '--before'),
})

function wholeNumber(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new BadUsage(`${name} takes a whole number above 0.`)
  return Number(text)
}

export const auditVerb = listVerb({
  name: 'audit',
  usage: '[--limit N] [--before SEQUENCE]',
  summary: 'lists accepted and refused writes, newest first',
  example: 'audit --limit 20',
  options: { limit: 'text', before: 'text' },
  members: ['sequence', 'at', 'outcome', 'reason', 'via', 'actor', 'uri'],
  none: 'There are no audit rows.',
  read: async (call) => {
    const page = readPageOptions(call)
    return withSideRows(storePlace(call), (side) => readAuditRows(side, page), 'read')
  },
  line: ({ sequence, at, outcome, reason, via, actor, uri }) => {
    const who = `${via}  ${lineText(actor ?? '-')}`
    return `${String(sequence).padStart(8)}  ${at}  ${outcome.padEnd(8)}  ${reason.padEnd(18)}  ${who}${uri === undefined ? '' : `  ${uri}`}`
  },
})

export const readsVerb = listVerb({
  name: 'reads',
  usage: '[--uri URI] [--by SUB] [--limit N] [--before SEQUENCE]',
  summary: 'lists who read which record, newest first; READ_AUDIT=all keeps that',
  example: 'reads --uri care://ann/plan --json',
  options: { uri: 'text', by: 'text', limit: 'text', before: 'text' },
  members: ['sequence', 'at', 'actor', 'way', 'outcome', 'uri'],
  none: 'There are no rows of reads.',
  read: async (call) => {
    const slot = slotOption(call)
    const chain = slot && chainUri(slot)
    const query = { ...readPageOptions(call), chain, actor: call.text('by') }
    return withSideRows(storePlace(call), (side) => readReadRows(side, query))
  },
  line: ({ sequence, at, actor, way, outcome, uri }) => {
    const facts = `${at}  ${outcome.padEnd(9)}  ${way.padEnd(14)}  ${lineText(actor)}`
    return `${String(sequence).padStart(8)}  ${facts}  ${uri}`
  },
})

export const eventsVerb = listVerb({
  name: 'events',
  summary: 'lists who is told of corrections by webhook, and what does not arrive',
  example: 'events --json',
  members: [
    'id',
    'sub',
    'patient',
    'domain',
    'expiresAt',
    'isActive',
    'lastDeliveryAt',
    'failedSince',
    'lastError',
  ],
  none: 'Nobody is told of corrections by webhook.',
  read: (call) => withSideRows(storePlace(call), listEventSubscriptions),
  line: ({ domain, expiresAt, failedSince, id, isActive, lastError, patient, sub }) => {
    const state = isActive ? (failedSince === undefined ? 'active' : 'failing') : 'suspended'
    const trouble = failedSince === undefined ? '' : `  since ${failedSince}: ${lastError ?? ''}`
    const about = `${lineText(sub)}  ${lineText(patient)}/${lineText(domain ?? '*')}`
    return `${state.padEnd(9)}  until ${expiresAt}  ${id}  ${about}${trouble}`
  },
})
