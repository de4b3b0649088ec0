/**
 * Contract values of one word each, alone or in structs: all that the access contract returns. viem takes four times as
 * long and computes address checksums in JavaScript: 3 % of a purchase's CPU. A test compares the two.
 */
import type { AbiParameter } from 'viem'
import type { Hex } from '../domain/access-window.ts'

const WORD_DIGITS = 64

/** Integers of up to this many bits are numbers, larger ones bigints, as viem types them. */
const NUMBER_BITS_MAX = 48

/** Decodes the words; addresses in lower case. Throws TypeError for a wrong number of words or a type that is not a word. */
export function decodeWords(parameters: readonly AbiParameter[], data: Hex): unknown[] {
  let at = 2
  const next = (): string => {
    const word = data.slice(at, at + WORD_DIGITS)
    if (word.length < WORD_DIGITS) throw new TypeError('the contract answered too few words')
    at += WORD_DIGITS
    return word
  }
  const values = parameters.map((parameter) => decodeOne(parameter, next))
  if (at !== data.length) throw new TypeError('the contract answered too many words')
  return values
}

function decodeOne(parameter: AbiParameter, next: () => string): unknown {
  const { type } = parameter
  if (type === 'tuple')
    return Object.fromEntries(
      membersOf(parameter).map((member) => [member.name, decodeOne(member, next)]),
    )
  const word = next()
  if (type === 'address') return `0x${word.slice(24).toLowerCase()}`
  if (type === 'bytes32') return `0x${word}`
  const number = BigInt(`0x${word}`)
  if (type === 'bool') return number !== 0n
  const bits = bitsOf(type)
  const value = type.startsWith('int') ? BigInt.asIntN(256, number) : number
  return bits <= NUMBER_BITS_MAX ? Number(value) : value
}

const membersOf = (parameter: AbiParameter): readonly AbiParameter[] =>
  'components' in parameter ? parameter.components : []

function bitsOf(type: string): number {
  const [, bits] = /^u?int(\d+)$/.exec(type) ?? []
  if (bits === undefined) throw new TypeError(`${type} is not one word`)
  return Number(bits)
}
