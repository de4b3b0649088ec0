import * as fc from 'fast-check'

/**
 * Any character but half a surrogate pair. fast-check's unit `binary` is the same, but its table of characters costs each test
 * process a second of computing.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10_ff_ff })
  .map((codePoint) => String.fromCodePoint(codePoint), readCodePoint)
  .filter((character) => character.isWellFormed())

/** fast-check needs it to mix in texts such as `__proto__`. What is not one character gets -1, which no character has. */
function readCodePoint(text: unknown): number {
  const [character, ...others] = String(text)
  return others.length === 0 ? (character?.codePointAt(0) ?? -1) : -1
}
