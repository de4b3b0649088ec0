/**
 * A thread for long work, with its own connection to the ledger, which it only reads. One job runs at a time. The thread
 * starts with its first job, or with `start`; if it dies or hangs, its job is answered by LongWorkUnavailable and the next
 * job gets a new thread. `close` ends it.
 */
import { Worker } from 'node:worker_threads'
import type { Clock } from '@tallystick/service-kit'
import type { LedgerPlace } from '../adapters/ledger-reader.ts'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { type LongWork, LongWorkUnavailable } from '../domain/grading/long-work.ts'

/** A job takes up to a second or two, on a slow disk some more: after this long its thread hangs. */
const JOB_MS_MAX = 20_000

/** Jobs of one kind that wait: whoever asks for more is told to come back, and no kind crowds out another. */
const WAITING_MAX = 32

/** Memory of the thread, MB: events in memory take some 25, the largest audit some 30. */
const HEAP_MB_MAX = 256

/** Which kind is served first: what is paid for, then what takes least. */
const ORDER = ['audit', 'search', 'readAudit', 'repeatAudit', 'preview'] as const
export type JobName = (typeof ORDER)[number]

/** What the thread says of a job. */
export type JobEnd =
  | { readonly kind: 'done'; readonly answer: unknown }
  | { readonly kind: 'store_unavailable'; readonly message: string }
  /** A bug. */
  | { readonly kind: 'failed'; readonly error: unknown }

type Job = {
  readonly name: JobName
  readonly input: unknown
  readonly ended: PromiseWithResolvers<unknown>
}

type LongWorker = LongWork & {
  /** Starts the thread, so that the first job does not wait for it. */
  start(): void
  close(): Promise<void>
}

type LongWorkerOptions = {
  readonly place: LedgerPlace
  readonly clock: Pick<Clock, 'after'>
  /** Another program for the thread, for tests. */
  readonly program?: URL
}

/** A thread that was started; once it is lost, or was ended, it is heard no more. */
function startThread({
  heard,
  lost,
  place,
  program,
}: {
  readonly place: LedgerPlace
  readonly program: URL
  readonly heard: (end: JobEnd) => void
  readonly lost: (cause: unknown) => void
}) {
  let isHeard = true
  const worker = new Worker(program, {
    workerData: place,
    // Nothing of this process's environment: what the thread needs to know is its place.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
  })
  const lose = (cause: unknown): void => {
    if (!isHeard) return
    isHeard = false
    lost(cause)
  }
  worker.on('message', (end: JobEnd) => {
    if (isHeard) heard(end)
  })
  worker.on('error', lose)
  worker.on('exit', (code) => lose(new Error(`it ended with ${code}`)))
  return {
    run: ({ input, name }: Job): void => worker.postMessage({ name, input }),
    end: async (): Promise<void> => {
      isHeard = false
      await worker.terminate()
    },
  }
}

/** The jobs that wait, each kind in a line of its own. */
function createLines() {
  const lines = new Map<JobName, Job[]>(ORDER.map((name) => [name, []]))
  return {
    /** False if the line is full. */
    join(job: Job): boolean {
      const line = lines.get(job.name) ?? []
      return line.length < WAITING_MAX && line.push(job) > 0
    },
    /** Takes the first job of the first kind that has one. */
    next(): Job | undefined {
      const name = ORDER.find((kind) => (lines.get(kind)?.length ?? 0) > 0)
      return name && lines.get(name)?.shift()
    },
  }
}

function endJob(job: Job, how: JobEnd): void {
  switch (how.kind) {
    case 'done':
      return job.ended.resolve(how.answer)
    case 'store_unavailable':
      return job.ended.reject(new GradingStoreUnavailable(how.message))
    case 'failed':
      return job.ended.reject(how.error)
    default:
      return how satisfies never
  }
}

const unavailable = (message: string, cause?: unknown): JobEnd => ({
  kind: 'failed',
  error: new LongWorkUnavailable(message, { cause }),
})

export function openLongWorker({
  clock,
  place,
  program = new URL('long-thread.ts', import.meta.url),
}: LongWorkerOptions): LongWorker {
  const lines = createLines()
  let thread: ReturnType<typeof startThread> | undefined
  let running: { readonly job: Job; readonly cancel: () => void } | undefined
  let isClosed = false

  /** The thread is not there any more; the next job starts another. */
  function lost(cause: unknown): void {
    thread = undefined
    finish(unavailable('its thread failed', cause))
  }

  function endWaiting(how: JobEnd): void {
    for (let job = lines.next(); job !== undefined; job = lines.next()) endJob(job, how)
  }

  function finish(how: JobEnd): void {
    if (running === undefined) return
    const { cancel, job } = running
    running = undefined
    cancel()
    endJob(job, how)
    // They would each wait for it as long as this one has.
    if (how.kind === 'store_unavailable') endWaiting(how)
    runNext()
  }

  function runNext(): void {
    if (running !== undefined || isClosed) return
    const job = lines.next()
    if (job === undefined) return
    thread ??= startThread({ place, program, heard: finish, lost })
    const { end: endThread, run: runJob } = thread
    const cancel = clock.after(JOB_MS_MAX, () => {
      void endThread()
      lost(new Error(`${job.name} took over ${JOB_MS_MAX} ms`))
    })
    running = { job, cancel }
    runJob(job)
  }

  function run<Answer>(name: JobName, input: unknown): Promise<Answer> {
    const job: Job = { name, input, ended: Promise.withResolvers() }
    if (isClosed) endJob(job, STOPPING)
    else if (!lines.join(job)) endJob(job, unavailable(`${WAITING_MAX} others wait`))
    else runNext()
    return job.ended.promise as Promise<Answer>
  }

  return {
    audit: (job) => run('audit', job),
    search: (query) => run('search', query),
    readAudit: (sent) => run('readAudit', sent),
    repeatAudit: (job) => run('repeatAudit', job),
    preview: (job) => run('preview', job),
    start: () => {
      thread ??= startThread({ place, program, heard: finish, lost })
    },
    async close() {
      isClosed = true
      finish(STOPPING)
      endWaiting(STOPPING)
      await thread?.end()
    },
  }
}

const STOPPING = unavailable('the service is stopping')
