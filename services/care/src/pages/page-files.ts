/** Care's pages, their scripts and documents, as served. */
import { readFileSync } from 'node:fs'
import {
  browserModules,
  filledMarkup,
  framedPage,
  type Page,
  type PageFile,
  pagePolicy,
} from '@tallystick/service-kit/pages'
import { documentLinks, readDocuments } from '../documents/documents.ts'
import type { SignInFacts } from '../wire/principal.ts'

/**
 * What the pages may do: what the pages of all services may, plus play sounds that they made, and ask the issuers where people
 * sign in.
 */
export const pagesPolicy = ({ issuers }: SignInFacts): string =>
  pagePolicy({
    connect: issuers.map(({ issuer }) => new URL(issuer).origin),
    more: ['media-src blob:'],
  })

const FRAME: Pick<Page, 'brand' | 'nav'> = {
  brand: 'Tallystick care',
  nav: [
    { href: '/', label: 'Overview' },
    { href: '/clinician.html', label: 'Clinician' },
    { href: '/echo.html', label: 'Echo' },
    { href: '/reads.html', label: 'Read log' },
  ],
}

/** What a page says about its service. */
type PagePlaces = {
  /** The service's address without a trailing slash, for the requests to copy. */
  readonly baseUrl: string
  /** The name in its headers and `_meta` keys. */
  readonly serviceName: string
  /** Whose records these are, for paper. */
  readonly clinic: string
  /** Whether `/verify` asks for a token before it shows names (C33). */
  readonly isPrivate: boolean
  /** Of records whose writer names none, if anybody has said it (C37). */
  readonly language?: string | undefined
  readonly signIn: SignInFacts
}

/** What the pages say of names, and the overview of the chains before it has read them, or instead. */
const nameWords = (isPrivate: boolean) =>
  isPrivate
    ? {
        patientHint: 'Use a pseudonym: names stay in proofs and backups.',
        domainHint: 'For example medication.',
        chainsTitle: 'Chains',
        chainsHint: 'Names and verdicts are told to tokens alone.',
        verdictWords: 'Names are private here',
        verdictFacts:
          'Which records there are, and whether their chains hold, is told to who has a token that reads them: ask /verify with it.',
        chainsWords: 'Private: ask /verify with a token.',
        verifyHeader: '-H "authorization: Bearer $CARE_TOKEN" ',
      }
    : {
        patientHint: 'Public, so use a pseudonym.',
        domainHint: 'Public. For example medication.',
        chainsTitle: 'Public chains',
        chainsHint:
          'Names and verdicts only. Sentences, authors and times need a token; internal records are not listed.',
        verdictWords: 'Replaying the chains…',
        verdictFacts: 'Their stored bytes are hashed again for every answer.',
        chainsWords: 'Not read yet.',
        verifyHeader: '',
      }

/** Reads everything; `{{baseUrl}}` in a page becomes the service's address. */
export function readPageFiles(places: PagePlaces): readonly PageFile[] {
  const { baseUrl, clinic, isPrivate, language = '', serviceName, signIn } = places
  const words = { baseUrl, ...nameWords(isPrivate) }
  const body = (name: string) =>
    filledMarkup(readFileSync(new URL(name, import.meta.url), 'utf8'), words)
  const facts = {
    'service-name': serviceName,
    clinic,
    'verify-names': isPrivate ? 'private' : 'public',
    language,
    'sign-in': JSON.stringify(signIn),
  }
  const frame = { ...FRAME, links: documentLinks, facts }
  return [
    framedPage(['/', '/index.html'], {
      ...frame,
      title: 'Tallystick care',
      description:
        'Care records that can be corrected at once and checked by anyone, served to assistants over MCP.',
      heading: 'Care records that can be taken back',
      lead: 'Assistants that speak to people at home read their sentences here, over MCP. When a clinician corrects one, every assistant that follows it hears of it at once and takes the old sentence back. Every version is chained to the one before, so that anyone can check that none was changed.',
      body: body('overview.html'),
      script: '/pages/overview.js',
    }),
    framedPage(['/clinician.html'], {
      ...frame,
      title: 'Clinician · Tallystick care',
      description: 'Write or correct a care record; the browser signs what you write.',
      heading: 'Write or correct a record',
      lead: 'What you write becomes the newest version. Assistants that follow the record take the old sentence back and say yours. Nothing is overwritten: every version stays, and can be checked.',
      body: body('clinician.html'),
      script: '/pages/clinician.js',
    }),
    framedPage(['/echo.html'], {
      ...frame,
      title: 'Echo · Tallystick care',
      description:
        'Listens to care records over MCP; shows and speaks each correction as it is written.',
      heading: 'Echo',
      lead: 'An assistant’s side of the records. This page listens over MCP, as a speaking device does. When a clinician corrects a record, it takes the old sentence back, shows the new one and says it.',
      body: body('echo.html'),
      script: '/pages/echo.js',
    }),
    framedPage(['/reads.html'], {
      ...frame,
      title: 'Read log · Tallystick care',
      description: 'Who read the records of a person, and when.',
      heading: 'Who read it',
      lead: 'Whoever may read a person’s records may see who else did: assistants, people and programs, with the moment of each read. Sentences are not shown here.',
      body: body('reads.html'),
      script: '/pages/reads.js',
    }),
    ...browserModules({
      root: new URL('browser/', import.meta.url),
      entries: ['overview.ts', 'clinician.ts', 'echo.ts', 'reads.ts'],
    }),
    ...readDocuments(FRAME),
  ]
}
