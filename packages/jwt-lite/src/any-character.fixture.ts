import * as fc from 'fast-check'

/**
 * Any character but half a surrogate pair. That is fast-check's unit `binary`, whose table of them takes each process that
 * runs tests a second of computing.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10_ff_ff })
  .map((codePoint) => String.fromCodePoint(codePoint), codePointOf)
  .filter((character) => character.isWellFormed())

/** By it fast-check mixes in texts such as `__proto__`; -1, which no character has, for what is not one character. */
function codePointOf(text: unknown): number {
  const [character, ...others] = String(text)
  return others.length === 0 ? (character?.codePointAt(0) ?? -1) : -1
}
