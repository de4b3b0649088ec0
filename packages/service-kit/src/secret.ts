import { inspect } from 'node:util'

/** Shown by every accidental rendering of a secret. */
const MASK = '[secret]'

/** A configured secret that cannot be printed by accident: logs, JSON, templates and errors show `[secret]`. */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** The UTF-8 bytes of the variable as given, never decoded from hex or base64 (S3). */
  bytes(): Uint8Array {
    return new TextEncoder().encode(this.#text)
  }

  /** The variable's text, for adapters that need a string, such as a hex key. */
  reveal(): string {
    return this.#text
  }

  toString(): string {
    return MASK
  }

  toJSON(): string {
    return MASK
  }

  [inspect.custom](): string {
    return MASK
  }
}
