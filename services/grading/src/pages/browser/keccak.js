/** keccak-256 as Ethereum has it (padding 0x01), after https://keccak.team/keccak_specs_summary.html. */

const RATE_BYTES = 136
const ROUNDS = 24
const MASK = (1n << 64n) - 1n

/**
 * @param {bigint} lane
 * @param {number} bits
 */
const rotate = (lane, bits) =>
  bits === 0 ? lane : ((lane << BigInt(bits)) | (lane >> BigInt(64 - bits))) & MASK

/** Bits of the round constants come from a shift register with x^8 + x^6 + x^5 + x^4 + 1. */
function roundConstants() {
  const constants = []
  let register = 1
  for (let round = 0; round < ROUNDS; round += 1) {
    let constant = 0n
    for (let power = 0; power <= 6; power += 1) {
      if ((register & 1) === 1) constant |= 1n << BigInt(2 ** power - 1)
      register = (register << 1) ^ ((register >> 7) * 0x171)
    }
    constants.push(constant)
  }
  return constants
}

/** Where each lane goes, and by how much it is rotated on its way, in the order of the walk through the state. */
function laneWalk() {
  const walk = []
  let [x, y] = [1, 0]
  for (let step = 0; step < ROUNDS; step += 1) {
    walk.push({ at: x + 5 * y, bits: (((step + 1) * (step + 2)) / 2) % 64 })
    ;[x, y] = [y, (2 * x + 3 * y) % 5]
  }
  return walk
}

const CONSTANTS = roundConstants()
const WALK = laneWalk()

/**
 * @param {bigint[]} state
 * @param {number} at
 */
const lane = (state, at) => state[at] ?? 0n

/** @param {bigint[]} state */
function mixColumns(state) {
  const parity = [0, 1, 2, 3, 4].map((x) =>
    [0, 5, 10, 15, 20].reduce((sum, row) => sum ^ lane(state, row + x), 0n),
  )
  for (let at = 0; at < 25; at += 1) {
    const x = at % 5
    state[at] = lane(state, at) ^ lane(parity, (x + 4) % 5) ^ rotate(lane(parity, (x + 1) % 5), 1)
  }
}

/** @param {bigint[]} state */
function permute(state) {
  for (const constant of CONSTANTS) {
    mixColumns(state)
    let carried = lane(state, 1)
    for (const [step, { bits }] of WALK.entries()) {
      const target = WALK[(step + 1) % ROUNDS]?.at ?? 0
      const next = lane(state, target)
      state[target] = rotate(carried, bits)
      carried = next
    }
    for (let row = 0; row < 25; row += 5) {
      const lanes = state.slice(row, row + 5)
      for (let x = 0; x < 5; x += 1)
        state[row + x] =
          lane(lanes, x) ^ (~lane(lanes, (x + 1) % 5) & MASK & lane(lanes, (x + 2) % 5))
    }
    state[0] = lane(state, 0) ^ constant
  }
}

/**
 * The 32 bytes of keccak-256.
 *
 * @param {Uint8Array} message
 */
export function keccak256(message) {
  const padded = new Uint8Array((Math.floor(message.length / RATE_BYTES) + 1) * RATE_BYTES)
  padded.set(message)
  padded[message.length] = 0x01
  padded[padded.length - 1] = (padded[padded.length - 1] ?? 0) | 0x80
  const view = new DataView(padded.buffer)
  const state = Array.from({ length: 25 }, () => 0n)
  for (let block = 0; block < padded.length; block += RATE_BYTES) {
    for (let at = 0; at < RATE_BYTES / 8; at += 1)
      state[at] = lane(state, at) ^ view.getBigUint64(block + at * 8, true)
    permute(state)
  }
  const out = new DataView(new ArrayBuffer(32))
  for (let at = 0; at < 4; at += 1) out.setBigUint64(at * 8, lane(state, at), true)
  return new Uint8Array(out.buffer)
}
