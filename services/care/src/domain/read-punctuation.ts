/** Pauses of a sentence as a voice says it (C37). */

/** What was read from a place on: its words, and where it ends. */
export type Read = { readonly said: string; readonly end: number }

/** A pause, or a sign of one, at a place of a text; undefined if it may be part of a number, or is nothing that is known. */
export function readPunctuation(text: string, at: number): Read | undefined {
  const sign = text[at] ?? ''
  const [before, after] = [text[at - 1] ?? '\n', text[at + 1] ?? '\n']
  if (sign === '\n') return { said: /[\p{L}\p{N}]$/u.test(before) ? '.\n' : '\n', end: at + 1 }
  if (sign === ' ') return { said: ' ', end: at + 1 }
  // What begins a line of a list is not heard.
  if (/[-–—•*]/u.test(sign) && before === '\n' && after === ' ') return { said: '', end: at + 2 }
  if (sign === '-' && /\p{L}/u.test(before) && after === ' ') return { said: '', end: at + 1 }
  if (/[-–—]/u.test(sign)) {
    const isPause = /\s/.test(before) && /^\s[^\d\s]/u.test(text.slice(at + 1, at + 3))
    return isPause ? { said: ',', end: at + 1 } : undefined
  }
  if (/["'’′]/u.test(sign) && /\p{N}/u.test(before)) return undefined
  // Close between two numbers any sign may be their decimal mark, or a dash.
  const isWithin = /\p{N}/u.test(before) || /[.,:،]/u.test(sign)
  if (isWithin && /\p{N}/u.test(after)) return undefined
  return /[.,;:!?…()[\]"'“”„‟«»‹›‘’‚¿¡،؛؟]/u.test(sign) ? { said: sign, end: at + 1 } : undefined
}

/** A known abbreviation, whose full stop may end the sentence too, unless it is a title. */
export function endAbbreviation(text: string, { end, said }: Read, isTitle = false): Read {
  const isLast = text[end - 1] === '.' && /^(?:$|\n| \p{Lu})/u.test(text.slice(end, end + 3))
  return { said: isLast && !isTitle ? `${said}.` : said, end }
}

/** A known abbreviation that is written without its full stop, or with one in a sentence. */
export function endShortened(text: string, { end, said }: Read): Read {
  return { said, end: /^\. [\p{Ll}\p{N}]/u.test(text.slice(end, end + 3)) ? end + 1 : end }
}
