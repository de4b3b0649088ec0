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
import {
  markupWords,
  type PageName,
  type PageWords,
  pageWords,
  requireWords,
} from './page-words.ts'

/**
 * What the pages may do: what the pages of all services may, plus play sounds that they made, and ask the issuers where people
 * sign in.
 */
export const pagesPolicy = ({ issuers }: SignInFacts): string =>
  pagePolicy({
    connect: issuers.map(({ issuer }) => new URL(issuer).origin),
    more: ['media-src blob:'],
  })

/** A page in the service's language: its frame, its names, and the words for its script. */
function inLanguage(words: PageWords<PageName>): Pick<Page, 'nav' | 'language'> {
  const { language: tag, isRightToLeft, texts } = words
  const nav = [
    { href: '/', label: texts.overview },
    { href: '/clinician.html', label: texts.clinician },
    { href: '/echo.html', label: texts.echo },
    { href: '/reads.html', label: texts.reads },
  ]
  return { nav, language: { tag, isRightToLeft, words: texts } }
}

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
  requireWords()
  const english = pageWords('en', 'echo')
  const echo = pageWords(language, 'echo')
  const reads = pageWords(language, 'reads')
  const words = { baseUrl, ...nameWords(isPrivate) }
  const body = (name: string, values: Parameters<typeof filledMarkup>[1] = words) =>
    filledMarkup(readFileSync(new URL(name, import.meta.url), 'utf8'), values)
  const facts = {
    'service-name': serviceName,
    clinic,
    'verify-names': isPrivate ? 'private' : 'public',
    language,
    'sign-in': JSON.stringify(signIn),
    words: JSON.stringify(english),
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
      ...inLanguage(echo),
      facts: { ...facts, words: JSON.stringify(echo) },
      title: `${echo.texts.title} · Tallystick care`,
      description: echo.texts.description,
      heading: echo.texts.title,
      lead: echo.texts.lead,
      body: body('echo.html', markupWords(echo)),
      script: '/pages/echo.js',
    }),
    framedPage(['/reads.html'], {
      ...frame,
      ...inLanguage(reads),
      facts: { ...facts, words: JSON.stringify(reads) },
      title: `${reads.texts.reads} · Tallystick care`,
      description: reads.texts.description,
      heading: reads.texts.title,
      lead: reads.texts.lead,
      body: body('reads.html', markupWords(reads)),
      script: '/pages/reads.js',
    }),
    ...browserModules({
      root: new URL('browser/', import.meta.url),
      entries: ['overview.ts', 'clinician.ts', 'echo.ts', 'reads.ts'],
    }),
    ...readDocuments(FRAME),
  ]
}
