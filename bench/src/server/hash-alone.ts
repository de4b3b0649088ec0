// The baseline of `/verify`: hashes the same preimages, held in memory, and does nothing else. Prints the CPU
// microseconds of the fastest of several passes.
import { GENESIS_PREV_HASH, preimageHash, versionPreimage } from '@tallystick/hashchain'
import { FILL_VERSIONS, fillRecord } from './fill-record.ts'

const PASSES = 7

const preimages = Array.from({ length: FILL_VERSIONS }, (_, place) =>
  versionPreimage({
    prevHash: GENESIS_PREV_HASH,
    ...fillRecord(place),
    writtenAt: new Date(place).toISOString(),
  }),
)
let lastHash = ''
let best = Number.POSITIVE_INFINITY
for (let pass = 0; pass < PASSES; pass += 1) {
  const before = process.cpuUsage()
  for (const preimage of preimages) lastHash = preimageHash(preimage)
  const { user, system } = process.cpuUsage(before)
  best = Math.min(best, user + system)
}
if (lastHash === '') throw new Error('nothing was hashed')
process.stdout.write(String(best))
