/** The thread of long work: opens the ledger to read with its first job, and does one job after another. */
import { parentPort, workerData } from 'node:worker_threads'
import { type LedgerPlace, openLedgerReader } from '../adapters/ledger-reader.ts'
import { createSlateGrader } from '../domain/audits/slate-grader.ts'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { createLongWork, threadCpuMs } from './do-long-work.ts'
import type { JobEnd, JobName } from './long-worker.ts'

async function open() {
  const { refresh, store } = await openLedgerReader(workerData as LedgerPlace)
  const slates = createSlateGrader(store)
  return { refresh, longWork: createLongWork({ slates, store, cpuMs: threadCpuMs }) }
}

let opened: ReturnType<typeof open> | undefined

async function run(name: JobName, input: never): Promise<JobEnd> {
  opened ??= open()
  try {
    const { longWork, refresh } = await opened.catch((error: unknown) => {
      // The next job tries again.
      opened = undefined
      throw error
    })
    await refresh()
    return { kind: 'done', answer: await longWork[name](input) }
  } catch (error) {
    return error instanceof GradingStoreUnavailable
      ? { kind: 'store_unavailable', message: error.message }
      : { kind: 'failed', error }
  }
}

parentPort?.on('message', async ({ input, name }: { name: JobName; input: never }) => {
  parentPort?.postMessage(await run(name, input))
})
