export { byteFlips } from './byte-flips.ts'
export { chainOf } from './chain-of.ts'
export { countingRandomBytes } from './counting-random-bytes.ts'
