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

/** The pages, as the navigation of each names them. */
const navIn = (texts: PageWords<PageName>['texts']) => [
  { href: '/', label: texts.overview },
  { href: '/clinician.html', label: texts.clinician },
  { href: '/echo.html', label: texts.echo },
  { href: '/reads.html', label: texts.reads },
  { href: '/timeline.html', label: texts.timeline },
]

const BRAND = 'Tallystick care'

/** What a page says about its service. */
type PagePlaces = {
  /** The service's address without a trailing slash, for the requests to copy. */
  readonly baseUrl: string
  /** The name in its headers and `_meta` keys. */
  readonly serviceName: string
  /** Whose records these are, for paper; empty if nobody has said it. */
  readonly clinic: string
  /** Whether `/verify` asks for a token before it shows names (C33). */
  readonly isPrivate: boolean
  /** Of records whose writer names none, if anybody has said it (C37). */
  readonly language?: string | undefined
  /** Of the clinic, an IANA name: its records' times and ages go by it. */
  readonly timeZone: string
  readonly signIn: SignInFacts
}

/**
 * What the pages say of names and verdicts, whose messages end in `Public` and `Private`: where `/verify` shows them to tokens
 * alone (C33), the latter stand in the markup.
 */
function withPrivacy<Text>(texts: Readonly<Record<string, Text>>, isPrivate: boolean) {
  const ending = isPrivate ? /Private$/ : /Public$/
  const chosen = Object.entries(texts).filter(([name]) => ending.test(name))
  return {
    ...texts,
    ...Object.fromEntries(chosen.map(([name, text]) => [name.replace(ending, ''), text])),
  }
}

/** Reads everything; `{{baseUrl}}` in a page becomes the service's address. */
export function readPageFiles(places: PagePlaces): readonly PageFile[] {
  const { baseUrl, clinic, isPrivate, language = '', serviceName, signIn, timeZone } = places
  requireWords()
  const facts = {
    'service-name': serviceName,
    clinic,
    'verify-names': isPrivate ? 'private' : 'public',
    language,
    'time-zone': timeZone,
    'sign-in': JSON.stringify(signIn),
  }
  const verifyHeader = isPrivate ? '-H "authorization: Bearer $CARE_TOKEN" ' : ''
  /** A page in the service's language: its frame, its names, its markup, and the words for its script. */
  const page = (name: PageName): Page => {
    const words = pageWords(language, name)
    const { isRightToLeft, language: tag, texts } = words
    const markup = readFileSync(new URL(`${name}.html`, import.meta.url), 'utf8')
    const filled = { ...withPrivacy(markupWords(words), isPrivate), baseUrl, verifyHeader }
    return {
      brand: BRAND,
      nav: navIn(texts),
      links: documentLinks,
      language: { tag, isRightToLeft, words: texts },
      facts: { ...facts, words: JSON.stringify(words) },
      title: `${texts[name]} · ${BRAND}`,
      description: texts.description,
      heading: texts.title,
      lead: texts.lead,
      body: filledMarkup(markup, filled),
      script: `/pages/${name}.js`,
    }
  }
  return [
    framedPage(['/', '/index.html'], { ...page('overview'), title: BRAND }),
    framedPage(['/clinician.html'], page('clinician')),
    framedPage(['/echo.html'], page('echo')),
    framedPage(['/reads.html'], page('reads')),
    framedPage(['/timeline.html'], page('timeline')),
    ...browserModules({
      root: new URL('browser/', import.meta.url),
      entries: ['overview.ts', 'clinician.ts', 'echo.ts', 'reads.ts', 'timeline.ts'],
    }),
    ...readDocuments({ brand: BRAND, nav: navIn(pageWords('en', 'overview').texts) }),
  ]
}
