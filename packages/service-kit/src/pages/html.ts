/** Markup that is safe to send: made by `html`, which escapes every interpolated value. */
export class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** A template accepts these; `undefined`, `null` and `false` render as nothing. */
type HtmlValue = string | number | bigint | Html | undefined | null | false | readonly HtmlValue[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

const rendered = (value: HtmlValue): string => {
  if (value === undefined || value === null || value === false) return ''
  if (value instanceof Html) return value.toString()
  if (typeof value === 'object') return value.map(rendered).join('')
  return escaped(String(value))
}

/** A tagged template that escapes every value for element content and quoted attributes. Never put a value into a script, a style or an unquoted attribute. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? ''
  values.forEach((value, index) => {
    text += rendered(value) + (strings[index + 1] ?? '')
  })
  return new Html(text)
}
