/**
 * What the clinician's form checks before it signs. The service answers every refusal alike, so the exact words have to
 * come from here; its own checks still decide.
 */
import { chainUri } from './record-uri.js'

/**
 * @typedef {object} WriteFields As typed: texts, empty where nothing was typed.
 * @property {string} patient
 * @property {string} domain
 * @property {string} value
 * @property {string} audience
 * @property {string} authorId
 * @property {string} authorLabel
 * @property {string} staleAfter Local date and time, as `2026-03-01T09:30`.
 * @property {string} priority
 */
/** @typedef {Partial<Record<keyof WriteFields | 'secret', string>>} Problems One sentence for each field that is wrong. */
/** @typedef {{ kind: 'ready', body: string } | { kind: 'refused', problems: Problems }} FieldCheck */

/** care.md, Limits: the largest body that /write takes. */
export const BODY_BYTES_MAX = 262_144
/** The longest URI that the service reads; that of a version's spoken form is the longest which a record has. */
const URI_CHARS_MAX = 4_096
const LONGEST_ENDING = '/999999999999999/audio'
/** ISO 8601 as the service reads it has years of four digits. */
const LAST_YEAR = 9_999

const required = {
  patient: 'Say whose record this is.',
  domain: 'Say what the record is about, for example medication.',
  value: 'Write the sentence that is to be said.',
  authorId: 'Give your id: a signed write needs one.',
}

/** @param {string} text */
function nameProblem(text) {
  if (/[/|]/.test(text)) return 'This cannot hold “/” or “|”.'
  if (text !== text.trim())
    return 'This begins or ends with a space, which would make another record.'
  return undefined
}

/**
 * @param {string} text
 * @param {number} nowMs
 */
function staleAfterProblem(text, nowMs) {
  if (text === '') return undefined
  const atMs = Date.parse(text)
  if (Number.isNaN(atMs) || new Date(atMs).getUTCFullYear() > LAST_YEAR)
    return 'This is not a date and time.'
  return atMs <= nowMs ? 'This is past: the record would be stale at once.' : undefined
}

/** @param {string} text */
function priorityProblem(text) {
  if (text === '') return undefined
  const priority = Number(text)
  return text.trim() !== '' && priority >= 0 && priority <= 1
    ? undefined
    : 'Give a number from 0 (least) to 1 (most), or nothing.'
}

/**
 * @param {WriteFields} fields
 * @param {number} nowMs
 * @returns {Problems}
 */
function findProblems(fields, nowMs) {
  /** @type {Problems} */
  const problems = {}
  for (const name of /** @type {const} */ ([
    'patient',
    'domain',
    'value',
    'authorId',
    'authorLabel',
  ])) {
    const text = fields[name]
    if (name !== 'authorLabel' && text.trim() === '') problems[name] = required[name]
    else if (!text.isWellFormed())
      problems[name] = 'This holds half a character (a lone surrogate), which cannot be stored.'
  }
  for (const name of /** @type {const} */ (['patient', 'domain'])) {
    const problem = problems[name] ?? nameProblem(fields[name])
    if (problem !== undefined) problems[name] = problem
  }
  if (fields.audience !== 'user' && fields.audience !== 'assistant')
    problems.audience = 'Choose who may hear it.'
  else if (Object.keys(problems).length === 0 && uriLength(fields) > URI_CHARS_MAX)
    problems.domain = 'The name and the topic are too long together for an address.'
  const staleAfter = staleAfterProblem(fields.staleAfter, nowMs)
  if (staleAfter !== undefined) problems.staleAfter = staleAfter
  const priority = priorityProblem(fields.priority)
  if (priority !== undefined) problems.priority = priority
  return problems
}

/** @param {WriteFields} fields */
const uriLength = ({ patient, domain, audience }) =>
  chainUri({ patient, domain, audience: audience === 'assistant' ? 'assistant' : 'user' }).length +
  LONGEST_ENDING.length

/** @param {WriteFields} fields */
function writeBody(fields) {
  const { patient, domain, value, audience, authorId, authorLabel, staleAfter, priority } = fields
  return JSON.stringify({
    patient,
    domain,
    value,
    audience,
    authorId,
    ...(authorLabel === '' ? {} : { authorLabel }),
    ...(staleAfter === '' ? {} : { staleAfter: new Date(staleAfter).toISOString() }),
    ...(priority === '' ? {} : { priority: Number(priority) }),
  })
}

/**
 * Returns the body to sign, or one sentence for each field that the service would refuse.
 *
 * @param {WriteFields} fields
 * @param {number} nowMs
 * @returns {FieldCheck}
 */
export function checkFields(fields, nowMs) {
  const problems = findProblems(fields, nowMs)
  if (Object.keys(problems).length > 0) return { kind: 'refused', problems }
  const body = writeBody(fields)
  const bytes = new TextEncoder().encode(body).length
  if (bytes <= BODY_BYTES_MAX) return { kind: 'ready', body }
  const value = `This is too long by ${bytes - BODY_BYTES_MAX} bytes: a write may have ${BODY_BYTES_MAX}.`
  return { kind: 'refused', problems: { value } }
}
