import { type ChainedVersion, GENESIS_PREV_HASH, versionHash } from '../version-chain.ts'

/** A minute between versions. */
const STEP_MS = 60_000

/** An intact chain of `values`, written by `authorId` a minute apart from `startMs` (Unix milliseconds). */
export function chainOf(
  values: readonly string[],
  { authorId = 'dr-osei', startMs = Date.UTC(2026, 0, 1) } = {},
): ChainedVersion[] {
  const versions: ChainedVersion[] = []
  let prevHash = GENESIS_PREV_HASH
  for (const [index, value] of values.entries()) {
    const writtenAt = new Date(startMs + index * STEP_MS).toISOString()
    const content = { prevHash, value, writtenAt, authorId }
    prevHash = versionHash(content)
    versions.push({ ...content, versionHash: prevHash })
  }
  return versions
}
