/**
 * An export as a FHIR R4 (4.0.1) Bundle, for systems that receive documents. A version is an authored sentence and no more, so
 * it becomes a DocumentReference with a Provenance: neither a Communication nor a CarePlan, which would claim that
 * somebody was told, or that something is planned. The chain's hashes travel as identifiers; they are no signatures.
 */
import { preimageHash } from '@tallystick/hashchain'
import { chainUri, parseRecordUri, versionUri } from '../wire/record-uri.ts'
import { lineText } from '../wire/text-of-others.ts'
import type { ExportLine } from '../wire/verify.ts'
import type { CareRecord } from './care-record.ts'
import { readJournalEntry } from './journal-entry.ts'
import { saidBy } from './retraction.ts'

export const FHIR_BUNDLES = ['collection', 'transaction'] as const

/**
 * `collection` is a file for people and archives. `transaction` is for a server: sent twice, it changes nothing the second
 * time, and a version that was corrected since becomes `superseded` there, one that was withdrawn `entered-in-error`.
 */
export type FhirBundleType = (typeof FHIR_BUNDLES)[number]

const DATA_OPERATIONS = 'http://terminology.hl7.org/CodeSystem/v3-DataOperation'
const RESTRICTED = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality',
  code: 'R',
}

/** Our own systems of identifiers, tags and extensions, under the service's base URL. */
const nameSystems = (baseUrl: string) => ({
  version: `${baseUrl}/fhir/version`,
  versionHash: `${baseUrl}/fhir/version-hash`,
  versionKey: `${baseUrl}/fhir/version-key`,
  patient: `${baseUrl}/fhir/patient`,
  author: `${baseUrl}/fhir/author`,
  audience: `${baseUrl}/fhir/audience`,
  staleAfter: `${baseUrl}/fhir/StructureDefinition/stale-after`,
  priority: `${baseUrl}/fhir/StructureDefinition/priority`,
})

type Systems = ReturnType<typeof nameSystems>

/**
 * Versions of an export, with the URI of their chain. One that is broken has no record: it is left out, as in every answer
 * (`care verify` on an export names it), but the version before it holds no longer.
 */
async function* versionsIn(
  lines: AsyncIterable<string>,
): AsyncGenerator<{ readonly uri: string; readonly record: CareRecord | undefined }> {
  for await (const line of lines) {
    // Our own store's lines, just written.
    const exported = JSON.parse(line) as ExportLine
    if (exported.kind !== 'version' && exported.kind !== 'broken') continue
    const slot = parseRecordUri(exported.uri)?.slot
    // A chain that was moved aside is no record any more.
    if (slot === undefined) continue
    const record = exported.kind === 'version' ? readJournalEntry(exported.entry) : undefined
    yield { uri: chainUri(slot), record }
  }
}

/** By chain, the last version that withdraws what its record has said until then (C40). */
async function findWithdrawals(lines: AsyncIterable<string>): Promise<Map<string, number>> {
  const withdrawals = new Map<string, number>()
  for await (const { uri, record } of versionsIn(lines))
    if (record?.status !== undefined) withdrawals.set(uri, record.version)
  return withdrawals
}

type Written = {
  readonly record: CareRecord
  /** Whether the bundle holds the version that it replaces: a server refuses a reference to nothing. */
  readonly hasPrevious: boolean
}

/**
 * The lines of a Bundle, from those of an export, which is read twice: a withdrawal is of all versions before it. Memory holds the
 * newest version of each chain.
 */
export async function* fhirBundle(
  exportLines: () => AsyncIterable<string>,
  { baseUrl, type }: { readonly baseUrl: string; readonly type: FhirBundleType },
): AsyncGenerator<string> {
  const systems = nameSystems(baseUrl)
  const withdrawals = await findWithdrawals(exportLines())
  const newest = new Map<string, Written>()
  // FHIR has no empty lists.
  let before = ',"entry":['
  let end = '}'
  const write = (written: Written, standing: 'current' | 'superseded'): string => {
    const { record } = written
    // A version that withdraws says nothing itself: a reader takes neither it nor what it withdraws for what held.
    const isWithdrawn = record.version <= (withdrawals.get(chainUri(record)) ?? 0)
    const status = isWithdrawn ? 'entered-in-error' : standing
    const entries = listEntries(written, { status, systems, type })
    const line = before + entries.map((entry) => JSON.stringify(entry)).join()
    before = ','
    end = ']}'
    return line
  }
  yield `{"resourceType":"Bundle","type":"${type}"`
  for await (const { uri, record } of versionsIn(exportLines())) {
    const older = newest.get(uri)
    if (older !== undefined) yield write(older, 'superseded')
    if (record === undefined) newest.delete(uri)
    else newest.set(uri, { record, hasPrevious: older?.record.versionHash === record.prevHash })
  }
  for (const written of newest.values()) yield write(written, 'current')
  yield end
}

type Status = 'current' | 'superseded' | 'entered-in-error'

function listEntries(
  written: Written,
  options: { readonly status: Status; readonly systems: Systems; readonly type: FhirBundleType },
) {
  const { status, systems, type } = options
  const { record } = written
  const key = versionKey(record)
  const document = { fullUrl: versionUrn(key, 'document') }
  const provenance = { fullUrl: versionUrn(key, 'provenance') }
  const entries = [
    { ...document, resource: describeDocument(written, { status, systems }) },
    { ...provenance, resource: describeProvenance(record, systems, document.fullUrl) },
  ]
  if (type === 'collection') return entries
  const named = `${systems.versionKey}|${key}`
  const requests = [
    // What a server holds as current must become what it is now; a new one must not become a second one.
    status !== 'current'
      ? { method: 'PUT', url: `DocumentReference?identifier=${encodeURIComponent(named)}` }
      : { method: 'POST', url: 'DocumentReference', ifNoneExist: `identifier=${named}` },
    // A Provenance of R4 has no identifier: its tag names the version.
    { method: 'POST', url: 'Provenance', ifNoneExist: `_tag=${named}` },
  ]
  return entries.map((entry, at) => ({ ...entry, request: requests[at] }))
}

/** Undefined members are not written. */
function describeDocument(
  { record, hasPrevious }: Written,
  { status, systems }: { readonly status: Status; readonly systems: Systems },
) {
  const { audience, domain, language, patient, prevHash, priority, staleAfter, version } = record
  const extension = [
    ...(staleAfter === undefined ? [] : [{ url: systems.staleAfter, valueString: staleAfter }]),
    ...(priority === undefined ? [] : [{ url: systems.priority, valueDecimal: priority }]),
  ]
  const previous = { ...record, version: version - 1, versionHash: prevHash }
  const replaced = {
    // The previous version's entry in this very bundle, and what names it anywhere.
    reference: hasPrevious ? versionUrn(versionKey(previous), 'document') : undefined,
    identifier: { system: systems.versionHash, value: prevHash },
  }
  return {
    resourceType: 'DocumentReference',
    meta: { tag: [{ system: systems.audience, code: audience }] },
    extension: extension.length > 0 ? extension : undefined,
    identifier: [
      { system: systems.version, value: versionUri(record, version) },
      { system: systems.versionHash, value: record.versionHash },
      { system: systems.versionKey, value: versionKey(record) },
    ],
    status,
    type: { text: lineText(domain) },
    subject: { identifier: { system: systems.patient, value: patient } },
    date: record.writtenAt,
    author: [describeAuthor(record, systems)],
    relatesTo: version > 1 ? [{ code: 'replaces', target: replaced }] : undefined,
    description: record.status && saidBy(record),
    securityLabel: audience === 'assistant' ? [{ coding: [RESTRICTED] }] : undefined,
    content: [
      {
        attachment: {
          contentType: 'text/plain; charset=utf-8',
          language,
          // FHIR has no empty strings.
          data: record.value === '' ? undefined : Buffer.from(record.value).toString('base64'),
        },
      },
    ],
  }
}

function describeProvenance(record: CareRecord, systems: Systems, documentUrl: string) {
  const { prevHash, version, versionHash } = record
  const previous = { system: systems.versionHash, value: prevHash }
  const change = version > 1 ? 'UPDATE' : 'CREATE'
  return {
    resourceType: 'Provenance',
    meta: {
      tag: [
        { system: systems.versionHash, code: versionHash },
        { system: systems.versionKey, code: versionKey(record) },
      ],
    },
    target: [{ reference: documentUrl }],
    recorded: record.writtenAt,
    activity: {
      coding: [{ system: DATA_OPERATIONS, code: record.status === undefined ? change : 'NULLIFY' }],
    },
    agent: [{ who: describeAuthor(record, systems) }],
    entity: version > 1 ? [{ role: 'revision', what: { identifier: previous } }] : undefined,
  }
}

const describeAuthor = ({ authorId, authorLabel }: CareRecord, systems: Systems) => ({
  identifier: { system: systems.author, value: authorId },
  display: authorLabel === '' ? undefined : lineText(authorLabel),
})

/**
 * What names a version alone. Its hash does not: the same sentence by the same author in the same millisecond has the same one in
 * two people's chains; nor does its URI, which a topic that was freed has again.
 */
const versionKey = (record: CareRecord): string =>
  preimageHash(`${versionUri(record, record.version)} ${record.versionHash}`)

/** A UUID of version 8 (RFC 9562) from a version's key: the same version has the same in every bundle. */
function versionUrn(key: string, kind: 'document' | 'provenance'): string {
  const from = kind === 'document' ? 0 : 16
  const typed = Buffer.from(key, 'hex').subarray(from, from + 16)
  typed[6] = ((typed[6] ?? 0) & 0x0f) | 0x80
  typed[8] = ((typed[8] ?? 0) & 0x3f) | 0x80
  const uuid = typed.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  return `urn:uuid:${uuid}`
}
