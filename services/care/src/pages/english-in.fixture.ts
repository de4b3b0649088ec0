/** Finds English on a page that is in another language (C37). */
import { PAGE_WORDS } from './page-words.ts'

/** Ordinary words of English that no other language of `words/` has. */
const ONLY_ENGLISH =
  /(?<![\p{L}\p{N}_-])(?:the|this|and|not|with|what|your|that|which|nothing|yet|only|does|cannot|has|from|been|said|may|it)(?![\p{L}\p{N}_-])/iu

type Messages = Readonly<Record<string, string | Readonly<Record<string, string>>>>

/** Every message, in every form of number. */
export const messagesIn = (groups: Readonly<Record<string, Messages>>): readonly string[] =>
  Object.values(groups).flatMap((messages) =>
    Object.values(messages).flatMap((text) =>
      typeof text === 'string' ? text : Object.values(text),
    ),
  )

/** What stands between the places of a message and around what is typed as it is. */
const piecesIn = (message: string): readonly string[] =>
  message.split(/\{\w+\}|`[^`]*`/).map((piece) => piece.replace(/^[\s.,:()]+|[\s.,:()]+$/g, ''))

const hasTwoWords = (piece: string): boolean => /\p{L}\s+\p{L}/u.test(piece)

/** Those texts of a page in that language that are English's: its words, a piece of an English message, or a whole one. */
export function englishIn(texts: readonly string[], language: string): readonly string[] {
  const own = messagesIn(PAGE_WORDS[language] ?? {})
  const english = messagesIn(PAGE_WORDS['en'] ?? {}).filter((message) => !own.includes(message))
  const pieces = english
    .flatMap(piecesIn)
    .filter((piece) => hasTwoWords(piece) && !own.some((message) => message.includes(piece)))
  return texts.filter(
    (text) =>
      ONLY_ENGLISH.test(text) ||
      english.includes(text.trim()) ||
      pieces.some((piece) => text.includes(piece)),
  )
}
