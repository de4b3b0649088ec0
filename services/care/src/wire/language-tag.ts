/** Languages as BCP 47 names them (C37). Pure: the browser runs this file too. */

/** Room for language, script, region and a variant or two (RFC 5646 §4.4.1). */
const TAG_CHARS_MAX = 35
const TAG_PATTERN = /^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$/

/** Whether a text has a tag's form, whatever it names: later registries know other subtags. */
export const isTagShaped = (text: string): boolean =>
  text.length <= TAG_CHARS_MAX && TAG_PATTERN.test(text)

/** No registered language has more letters: `german` is no tag. */
const LANGUAGE_PATTERN = /^[a-z]{2,3}(?:-|$)/

/** A tag in its canonical spelling, `pt-BR` for `PT-br`; undefined for what is none. */
export function readLanguageTag(text: string): string | undefined {
  if (!isTagShaped(text)) return undefined
  try {
    const [tag = ''] = Intl.getCanonicalLocales(text)
    return LANGUAGE_PATTERN.test(tag) ? tag : undefined
  } catch {
    return undefined // a RangeError: not well-formed
  }
}

/** ISO 15924's names of scripts that are written from the right. */
const FROM_THE_RIGHT = /^(?:Adlm|Arab|Hebr|Mand|Nkoo|Rohg|Samr|Syrc|Thaa|Yezi)$/

/**
 * The attributes of an element that holds text in a language: `lang`, empty where nobody has said it, so that none is claimed, and
 * the direction of its script.
 */
export function languageAttributes(language: string | undefined): {
  readonly lang: string
  readonly dir: 'ltr' | 'rtl' | 'auto'
} {
  if (language === undefined || language === 'und') return { lang: '', dir: 'auto' }
  const { script = '' } = new Intl.Locale(language).maximize()
  return { lang: language, dir: FROM_THE_RIGHT.test(script) ? 'rtl' : 'ltr' }
}
