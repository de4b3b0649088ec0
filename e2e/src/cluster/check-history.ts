/**
 * Judges what clients saw of a cluster, without having taken part: each chain is linearizable, no session misses or repeats a
 * version, and writes go on soon after each fault. It knows nothing of the services but that versions of a chain count from 1.
 */

/** A write as its writer saw it; times by one clock, milliseconds. */
export type WriteSeen = {
  readonly chain: string
  /** Unique among all writes. */
  readonly value: string
  readonly startMs: number
  readonly outcome:
    | { readonly kind: 'acknowledged'; readonly version: number; readonly endMs: number }
    /** Said to have changed nothing. */
    | { readonly kind: 'refused'; readonly answer: string }
    /** No answer, or one that leaves it open. */
    | { readonly kind: 'unknown' }
}

export type ReadSeen = {
  readonly chain: string
  readonly startMs: number
  readonly endMs: number
  readonly version: number
  readonly value: string
}

/** What a session was told, in the order of its telling. */
export type SessionSeen = {
  readonly name: string
  /** The last version of each chain that it need not hear of: its stream stood before the next one was written. */
  readonly from: ReadonlyMap<string, number>
  readonly heard: readonly { readonly chain: string; readonly version: number }[]
}

export type History = {
  readonly writes: readonly WriteSeen[]
  readonly reads: readonly ReadSeen[]
  readonly sessions: readonly SessionSeen[]
  /** What the store holds at the end: the values of each chain, its first version first. */
  readonly stored: ReadonlyMap<string, readonly string[]>
  readonly faults: readonly { readonly what: string; readonly atMs: number }[]
}

/** After a fault a write that began later is acknowledged within this, milliseconds. */
const GOES_ON_MS_MAX = 5_000

/** Sentences about what is wrong; none if the history holds. */
export function checkHistory(history: History): readonly string[] {
  const chains = new Set([...history.stored.keys(), ...history.writes.map(({ chain }) => chain)])
  return [
    ...[...chains].flatMap((chain) => checkChain(chain, history)),
    ...history.sessions.flatMap((session) => checkSession(session, history.stored)),
    ...history.faults.flatMap((fault) => checkGoingOn(fault, history.writes)),
  ]
}

function checkGoingOn(
  { atMs, what }: History['faults'][number],
  writes: History['writes'],
): readonly string[] {
  const endsMs = writes.flatMap(({ outcome, startMs }) =>
    startMs >= atMs && outcome.kind === 'acknowledged' ? [outcome.endMs - atMs] : [],
  )
  const firstMs = Math.min(...endsMs)
  return firstMs <= GOES_ON_MS_MAX ? [] : [`${what}: no write was acknowledged for ${firstMs} ms`]
}

/**
 * Versions order a chain's writes. It is linearizable if that order holds every acknowledged write at its version, agrees with
 * time (what ended before another began comes first), and reads see it grow.
 */
function checkChain(chain: string, { writes, reads, stored }: History): readonly string[] {
  const values = stored.get(chain) ?? []
  const own = writes.filter((write) => write.chain === chain)
  return [
    ...checkWrites(chain, { own, values }),
    ...checkReads(chain, { own, values, reads: reads.filter((read) => read.chain === chain) }),
  ]
}

type ChainWrites = { readonly own: readonly WriteSeen[]; readonly values: readonly string[] }

function checkWrites(chain: string, { own, values }: ChainWrites): readonly string[] {
  const faults: string[] = []
  const known = new Set(own.map(({ value }) => value))
  const times = new Map<string, number>()
  for (const value of values) times.set(value, (times.get(value) ?? 0) + 1)
  for (const [value, count] of times) {
    if (count > 1) faults.push(`${chain}: “${value}” is stored ${count} times`)
    if (!known.has(value)) faults.push(`${chain}: “${value}” was written by nobody`)
  }
  for (const { value, outcome } of own) {
    if (outcome.kind === 'refused' && times.has(value))
      faults.push(`${chain}: “${value}” was refused with “${outcome.answer}” and is stored`)
    if (outcome.kind === 'acknowledged' && values[outcome.version - 1] !== value)
      faults.push(
        `${chain}: “${value}” was acknowledged as version ${outcome.version}, which is not stored`,
      )
  }
  return [...faults, ...checkOrder(chain, { own, values })]
}

/** A write that ended before another began comes before it. */
function checkOrder(chain: string, { own, values }: ChainWrites): readonly string[] {
  const placed = own.flatMap((write) => {
    const version = values.indexOf(write.value) + 1
    const endMs =
      write.outcome.kind === 'acknowledged' ? write.outcome.endMs : Number.POSITIVE_INFINITY
    return version === 0 ? [] : [{ ...write, version, endMs }]
  })
  const faults: string[] = []
  // By version: no later one may have ended before an earlier one began.
  let latest: (typeof placed)[number] | undefined
  for (const write of placed.toSorted((a, b) => a.version - b.version)) {
    if (latest !== undefined && write.endMs < latest.startMs)
      faults.push(`${chain}: version ${write.version} ended before version ${latest.version} began`)
    if (latest === undefined || write.startMs > latest.startMs) latest = write
  }
  return faults
}

function checkReads(
  chain: string,
  { own, values, reads }: ChainWrites & { readonly reads: readonly ReadSeen[] },
): readonly string[] {
  const faults: string[] = []
  const findStart = new Map(own.map(({ startMs, value }) => [value, startMs]))
  /** When each version was known to be there: acknowledged, or read. */
  const seen = [
    ...own.flatMap(({ outcome }) => (outcome.kind === 'acknowledged' ? [outcome] : [])),
    ...reads,
  ].toSorted((a, b) => a.endMs - b.endMs)
  let [at, least] = [0, 0]
  for (const read of reads.toSorted((a, b) => a.startMs - b.startMs)) {
    for (; (seen[at]?.endMs ?? Number.POSITIVE_INFINITY) < read.startMs; at += 1)
      least = Math.max(least, seen[at]?.version ?? 0)
    if (values[read.version - 1] !== read.value)
      faults.push(
        `${chain}: a read saw “${read.value}” as version ${read.version}, which is not stored`,
      )
    if (read.version < least)
      faults.push(`${chain}: a read saw version ${read.version} after version ${least} was there`)
    if ((findStart.get(read.value) ?? 0) > read.endMs)
      faults.push(`${chain}: a read saw version ${read.version} before it was written`)
  }
  return faults
}

/** Every version from where it stood on, once and in order. */
function checkSession(
  { from, heard, name }: SessionSeen,
  stored: History['stored'],
): readonly string[] {
  const faults: string[] = []
  const last = new Map(from)
  for (const { chain, version } of heard) {
    const before = last.get(chain) ?? 0
    if (version <= before)
      faults.push(`${name} heard version ${version} of ${chain} again, or late`)
    else if (version > before + 1)
      faults.push(`${name} missed versions ${before + 1} to ${version - 1} of ${chain}`)
    last.set(chain, Math.max(before, version))
  }
  for (const [chain, values] of stored) {
    const before = last.get(chain) ?? 0
    if (before < values.length)
      faults.push(`${name} missed versions ${before + 1} to ${values.length} of ${chain}`)
  }
  return faults
}
