// Where the time of a write goes, by a CPU profile of the server: each sample belongs to the innermost function on its stack
// that a stage names. A wait for the disk counts, since the thread waits with it; what the thread does not do is idle.
import { readFileSync } from 'node:fs'
import { z } from 'zod'

const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string() }),
      children: z.array(z.number()).optional(),
    }),
  ),
  /** Microseconds of the machine's monotonic clock. */
  startTime: z.number(),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
})

type Frame = z.output<typeof profileSchema>['nodes'][number]['callFrame']

const HTTP = 'HTTP, and all else'
const IDLE = 'idle'

/** Functions by name and file. */
const STAGES: readonly (readonly [stage: string, name: string, file: string])[] = [
  ['judging: signature, JSON, fields', 'judgeWrite', 'write-route.ts'],
  ['the version: tail, hashes, rows', 'readMemory', 'record-writer.ts'],
  ['the version: tail, hashes, rows', 'decideGroup', 'write-group.ts'],
  ['the version: tail, hashes, rows', '#save', 'sqlite-commit.ts'],
  ['commit of the records, with its fsync', '#commitNow', 'sqlite-commit.ts'],
  ['audit row, with its fsync, and frames', '#inTransaction', 'sqlite-connection.ts'],
  ['telling sessions', 'publish', 'session-hub.ts'],
  ['garbage collection', '(garbage collector)', ''],
  [IDLE, '(idle)', ''],
]

/** The stages in the order of a write. */
export const STAGE_NAMES: readonly string[] = [
  ...new Set([...STAGES.map(([stage]) => stage), HTTP]),
]

const isFrame = ({ functionName, url }: Frame, name: string, file: string): boolean =>
  functionName === name && url.endsWith(file)

const findStage = (frame: Frame): string | undefined =>
  STAGES.find(([, name, file]) => isFrame(frame, name, file))?.[0]

/** The machine's monotonic clock, microseconds: that of profiles. */
export const monotonicMicros = (): number => Number(process.hrtime.bigint() / 1_000n)

/** Microseconds in each stage between two moments. Throws where a stage's function is not in the profile: it has another name by now. */
export function stageMicros(
  path: string,
  { fromMicros, toMicros }: { readonly fromMicros: number; readonly toMicros: number },
): ReadonlyMap<string, number> {
  const profile = profileSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  for (const [stage, name, file] of STAGES)
    if (!profile.nodes.some(({ callFrame }) => isFrame(callFrame, name, file)))
      throw new Error(`${stage}: ${name} of ${file} is not in the profile`)
  const stages = new Map<number, string>()
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  // Parents come before their children; the innermost stage holds.
  for (const { id, callFrame, children = [] } of profile.nodes) {
    const stage = stages.get(id) ?? findStage(callFrame) ?? HTTP
    stages.set(id, stage)
    for (const child of children) {
      const frame = frames.get(child)
      stages.set(child, (frame && findStage(frame)) ?? stage)
    }
  }
  const spent = new Map<string, number>()
  let atMicros = profile.startTime
  for (const [place, id] of profile.samples.entries()) {
    const took = profile.timeDeltas[place] ?? 0
    atMicros += took
    if (atMicros < fromMicros || atMicros > toMicros) continue
    const stage = stages.get(id) ?? HTTP
    spent.set(stage, (spent.get(stage) ?? 0) + took)
  }
  return spent
}
