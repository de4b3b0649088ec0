import { BadUsage } from '@tallystick/service-kit/command'
import { isAddress } from 'viem'
import { parseHbar } from '../domain/hbar.ts'
import type { OperatorCall } from './operator-verb.ts'

/** An amount in HBAR as tinybar, or `undefined` where the option is left out. Throws BadUsage. */
export function hbarOption(call: OperatorCall, name: string): bigint | undefined {
  const text = call.text(name)
  if (text === undefined) return undefined
  const tinybar = parseHbar(text)
  if (tinybar === undefined) {
    throw new BadUsage(`--${name} takes an amount in HBAR with at most 8 decimals.`)
  }
  return tinybar
}

/** The same for an amount that must be there and above 0. */
export function neededHbarOption(call: OperatorCall, name: string): bigint {
  const tinybar = hbarOption(call, name)
  if (tinybar === undefined || tinybar === 0n) {
    throw new BadUsage(`Say how much: --${name} with an amount in HBAR above 0.`)
  }
  return tinybar
}

/** The contract keeps seconds and calls in 32 bits. */
const COUNT_MAX = 2 ** 32 - 1

/** A whole number from 1 to 2^32 − 1, or `undefined` where the option is left out. Throws BadUsage. */
export function countOption(call: OperatorCall, name: string): number | undefined {
  const text = call.text(name)
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,9}$/.test(text) || Number(text) > COUNT_MAX) {
    throw new BadUsage(`--${name} takes a whole number from 1 to ${COUNT_MAX}.`)
  }
  return Number(text)
}

/** An EVM address that was given as a word or option. Throws BadUsage. */
export function addressFrom(text: string | undefined, what: string): `0x${string}` {
  if (text === undefined || !isAddress(text, { strict: false })) {
    throw new BadUsage(`${what} is an EVM address, 0x and 40 hexadecimal digits.`)
  }
  return text
}
