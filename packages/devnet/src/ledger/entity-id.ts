import { type Address, numberToHex } from 'viem'

/** `0.0.<number>` of an entity number. */
export function entityId(number: number): string {
  return `0.0.${number}`
}

/** The entity number in `0.0.<number>` or `<number>`, undefined for anything else. */
export function entityNumber(text: string): number | undefined {
  const digits = /^(?:0\.0\.)?(\d{1,15})$/.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** The long-zero EVM address of an entity: its number in 20 bytes. */
export function longZeroAddress(number: number): Address {
  return numberToHex(number, { size: 20 })
}

/** The entity number in a long-zero address, undefined for any other address. */
export function longZeroNumber(address: string): number | undefined {
  // Numbers are 64 bits on the network; an address is long-zero if its first 12 bytes are zero.
  const digits = /^0x0{24}([0-9a-f]{16})$/.exec(address.toLowerCase())?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 16)
}

/** Lower-case form of an EVM address, as for every address that the ledger keeps. */
export function lowerAddress(address: string): Address {
  return address.toLowerCase() as Address
}
