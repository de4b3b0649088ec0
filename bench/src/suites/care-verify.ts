// How many versions `/verify` replays per CPU second, over HTTP from a store on disk, and how long it holds the event
// loop. The baseline hashes the same preimages and does nothing else.
import { execFile } from 'node:child_process'
import { utimesSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Figure, judgeFigure } from '../figure.ts'
import { median } from '../quantile.ts'
import { FILL_VERSIONS } from '../server/fill-record.ts'
import { ServerProcess } from '../server-process.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const WARM_RUNS = 2
const REPEATS = 7
const MICROS_PER_SECOND = 1e6

type Storage = 'clear' | 'sealed'

type Replay = {
  /** Millions of versions per CPU second. */
  readonly speed: number
  readonly loopBlockMs: number
}

const runFile = async (file: string, args: readonly string[] = []): Promise<string> => {
  const path = fileURLToPath(new URL(`../server/${file}`, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [path, ...args])
  return stdout
}

async function replayOnce(server: ServerProcess, databasePath: string): Promise<Replay> {
  // A file that somebody else may have changed is replayed, not answered from what is kept.
  utimesSync(databasePath, new Date(), new Date())
  await server.figures('watch-loop')
  const cpuMicros = await server.readCpuMicros(async () => {
    const answer = await fetch(`${server.url}/verify`)
    const report = (await answer.json()) as { readonly versions: number; readonly intact: boolean }
    if (report.versions !== FILL_VERSIONS || !report.intact)
      throw new Error(`/verify found ${report.versions} versions, intact: ${report.intact}`)
  })
  const { loopBlockMs } = await server.figures()
  return { speed: FILL_VERSIONS / cpuMicros, loopBlockMs }
}

async function measureReplays(databasePath: string, storage: Storage): Promise<readonly Replay[]> {
  await runFile('fill-store.ts', [databasePath, storage])
  const server = await ServerProcess.start('care-server.ts', [databasePath, storage])
  try {
    const replays: Replay[] = []
    for (let repeat = 0; repeat < WARM_RUNS + REPEATS; repeat += 1)
      replays.push(await replayOnce(server, databasePath))
    return replays.slice(WARM_RUNS)
  } finally {
    await server.stop()
  }
}

/** `/verify` of 100,000 versions in 1,000 chains, in the clear and sealed. */
export async function measureCareVerify(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const replays = {
    clear: await measureReplays(folder.file('clear.db'), 'clear'),
    sealed: await measureReplays(folder.file('sealed.db'), 'sealed'),
  }
  const hashMicros = Number(await runFile('hash-alone.ts'))
  const speed = (storage: Storage, aim: number): Figure =>
    judgeFigure({
      name: `versions replayed a second of CPU, ${storage}`,
      value: median(replays[storage].map((replay) => replay.speed)),
      unit: 'M/s',
      baseline: { name: 'hashing alone', value: FILL_VERSIONS / hashMicros },
      higherIsBetter: true,
      aim: { kind: 'at-least', value: aim },
    })
  const block = (storage: Storage): Figure =>
    judgeFigure({
      name: `longest loop block over 100,000 versions, ${storage}`,
      value: median(replays[storage].map(({ loopBlockMs }) => loopBlockMs)),
      unit: 'ms',
      baseline: { name: 'hashing alone in one go', value: (hashMicros * 1000) / MICROS_PER_SECOND },
      aim: { kind: 'at-most', value: 50 },
    })
  return [speed('clear', 0.3), speed('sealed', 0.15), block('clear'), block('sealed')]
}
