// Which of the repository's files a running service executes, by V8's precise coverage over its inspector. SIGUSR1 opens the
// inspector on a free port of loopback, since the local stack starts its services with `--inspect-port=0`.
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { eventually } from '../eventually.ts'

/** A file, with what follows an answer in the background, has run to its end once nothing new runs for this long. */
const QUIET_MS = 300
/** A receipt and its round of reads take less; what still runs then belongs to nobody's request. */
const SETTLE_MS_MAX = 5_000

const root = new URL('../../..', import.meta.url).href

const Coverage = z.object({
  result: z.array(
    z.object({
      url: z.string(),
      functions: z.array(
        z.object({ functionName: z.string(), ranges: z.array(z.object({ count: z.number() })) }),
      ),
    }),
  ),
})

const Message = z.object({ id: z.number().optional(), result: z.unknown() })

export type WatchedProcess = {
  /** Forgets what has run so far. */
  begin(): Promise<void>
  /** The files of which a function has run since, in order of their names, once nothing new runs. */
  filesRun(): Promise<readonly string[]>
  close(): Promise<void>
}

/** The address at which a process told to open its inspector says that it listens. */
async function inspectorAddress(pid: number, logFile: string): Promise<string> {
  process.kill(pid, 'SIGUSR1')
  let address: string | undefined
  await eventually(() => {
    address = [...readFileSync(logFile, 'utf8').matchAll(/^Debugger listening on (ws:\S+)$/gm)]
      .at(-1)
      ?.at(1)
    return address !== undefined
  })
  return address ?? ''
}

/** Calls methods of the inspector one after the other. */
async function openInspector(address: string) {
  const socket = new WebSocket(address)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', reject, { once: true })
  })
  let id = 0
  return {
    async call(method: string, params: object = {}): Promise<unknown> {
      id += 1
      const answer = new Promise<unknown>((resolve) => {
        const asking = id
        socket.addEventListener('message', function hear({ data }) {
          const { id: answered, result } = Message.parse(JSON.parse(String(data)))
          if (answered !== asking) return
          socket.removeEventListener('message', hear)
          resolve(result)
        })
      })
      socket.send(JSON.stringify({ id, method, params }))
      return await answer
    },
  }
}

/** Watches a process whose standard error goes to `logFile`. */
export async function watchProcess(pid: number, logFile: string): Promise<WatchedProcess> {
  const inspector = await openInspector(await inspectorAddress(pid, logFile))
  await inspector.call('Profiler.enable')
  await inspector.call('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const takeFiles = async (): Promise<readonly string[]> => {
    const { result } = Coverage.parse(await inspector.call('Profiler.takePreciseCoverage'))
    return result
      .filter(({ functions, url }) => url.startsWith(root) && functions.some(hasRun))
      .map(({ url }) => fileURLToPath(url).slice(fileURLToPath(root).length))
      .filter((file) => !file.includes('node_modules'))
  }
  return {
    begin: async () => {
      await takeFiles()
    },
    async filesRun() {
      const files = new Set(await takeFiles())
      const untilMs = performance.now() + SETTLE_MS_MAX
      for (let isQuiet = false; !isQuiet && performance.now() < untilMs; ) {
        await pause(QUIET_MS)
        const more = await takeFiles()
        isQuiet = more.every((file) => files.has(file))
        for (const file of more) files.add(file)
      }
      return [...files].toSorted()
    },
    async close() {
      await inspector.call('Profiler.stopPreciseCoverage')
      // It is not answered: the inspector closes with it.
      void inspector.call('Runtime.evaluate', { expression: 'process._debugEnd()' })
    },
  }
}

const hasRun = ({ ranges }: { readonly ranges: readonly { readonly count: number }[] }): boolean =>
  (ranges[0]?.count ?? 0) > 0
