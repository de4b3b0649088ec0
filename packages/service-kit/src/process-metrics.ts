/** What every process tells of itself, under the names that Prometheus's clients use. */
import { readFileSync, statSync } from 'node:fs'
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { createMetrics, type MetricTable, type Registry } from './metrics.ts'

/** Seconds: most collections take less than a millisecond. */
const COLLECTION_BUCKETS_SECONDS = [0.001, 0.01, 0.1, 1]

const METRICS = {
  process_cpu_user_seconds_total: { kind: 'counter', help: 'CPU time in the program.' },
  process_cpu_system_seconds_total: { kind: 'counter', help: 'CPU time in the kernel.' },
  process_cpu_seconds_total: { kind: 'counter', help: 'CPU time.' },
  process_start_time_seconds: { kind: 'gauge', help: 'Start of the process, Unix time.' },
  process_resident_memory_bytes: { kind: 'gauge', help: 'Memory of the process.' },
  process_open_fds: { kind: 'gauge', help: 'Open files and sockets.' },
  process_max_fds: { kind: 'gauge', help: 'How many there may be.' },
  nodejs_heap_size_total_bytes: { kind: 'gauge', help: 'The heap of JavaScript.' },
  nodejs_heap_size_used_bytes: { kind: 'gauge', help: 'What is used of it.' },
  nodejs_external_memory_bytes: { kind: 'gauge', help: 'Memory of buffers and libraries.' },
  nodejs_active_resources_total: { kind: 'gauge', help: 'Whatever keeps the process alive.' },
  nodejs_eventloop_lag_max_seconds: {
    kind: 'gauge',
    help: 'The longest that the event loop was late since the last scrape.',
  },
  nodejs_eventloop_lag_p99_seconds: {
    kind: 'gauge',
    help: 'How late it was at most in 99 of 100 samples since then.',
  },
  nodejs_gc_duration_seconds: {
    kind: 'histogram',
    help: 'Collections of garbage.',
    labels: ['kind'],
    bucketsSeconds: COLLECTION_BUCKETS_SECONDS,
  },
  nodejs_version_info: { kind: 'gauge', help: 'The version of Node.', labels: ['version'] },
} as const satisfies MetricTable

/** How often the event loop is asked how late it is, milliseconds. */
const SAMPLE_MS = 20

const COLLECTIONS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
}

type Collection = { readonly duration: number; readonly detail?: { readonly kind?: number } }

/** A number that only Linux tells; NaN elsewhere. */
function onLinux(read: () => number): number {
  try {
    return read()
  } catch {
    return Number.NaN
  }
}

/** The folder's size is their number: listing ten thousand would hold the event loop. Before Linux 6.2 it is 0. */
const countOpenFiles = (): number => statSync('/proc/self/fd').size || Number.NaN

const readFilesMax = (): number =>
  Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])

/** Registers them for this process. */
export function measureProcess(registry: Registry): void {
  const { observe, read, readTogether } = createMetrics(registry, METRICS)
  readTogether(() => process.cpuUsage(), {
    process_cpu_user_seconds_total: ({ user }) => user / 1e6,
    process_cpu_system_seconds_total: ({ system }) => system / 1e6,
    process_cpu_seconds_total: ({ system, user }) => (user + system) / 1e6,
  })
  readTogether(() => process.memoryUsage(), {
    process_resident_memory_bytes: ({ rss }) => rss,
    nodejs_heap_size_total_bytes: ({ heapTotal }) => heapTotal,
    nodejs_heap_size_used_bytes: ({ heapUsed }) => heapUsed,
    nodejs_external_memory_bytes: ({ external }) => external,
  })
  const startSeconds = performance.timeOrigin / 1_000
  read('process_start_time_seconds', (show) => show(startSeconds))
  read('process_open_fds', (show) => show(onLinux(countOpenFiles)))
  const filesMax = onLinux(readFilesMax)
  read('process_max_fds', (show) => show(filesMax))
  read('nodejs_active_resources_total', (show) => show(process.getActiveResourcesInfo().length))
  read('nodejs_version_info', (show) => show(1, { version: process.version }))
  const lag = monitorEventLoopDelay({ resolution: SAMPLE_MS })
  lag.enable()
  readTogether(() => lag, {
    nodejs_eventloop_lag_max_seconds: ({ max }) => max / 1e9,
    nodejs_eventloop_lag_p99_seconds: (delays) => {
      const late = delays.percentile(99) / 1e9
      delays.reset()
      return late
    },
  })
  new PerformanceObserver((list) => {
    for (const { detail, duration } of list.getEntries() as readonly Collection[])
      observe('nodejs_gc_duration_seconds', duration / 1_000, {
        kind: COLLECTIONS[detail?.kind ?? 0] ?? 'other',
      })
  }).observe({ entryTypes: ['gc'] })
}
