/** A program's metrics, made from one table: it says of each metric the name, kind, help and labels, and nothing else does (S4). */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** These are fixed for a metric; its name is its key in the table. */
type Metric = {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels?: readonly string[]
  /** Upper bounds of a histogram's buckets, seconds. */
  readonly bucketsSeconds?: readonly number[]
}

export type MetricTable = Readonly<Record<string, Metric>>

type Names<Table, Kind extends Metric['kind']> = {
  [Name in keyof Table & string]: Table[Name] extends { readonly kind: Kind } ? Name : never
}[keyof Table & string]

/** None, or one argument with a value for each label of a metric. */
type Labels<Row> = Row extends { readonly labels: readonly (infer Label extends string)[] }
  ? [labels: Readonly<Record<Label, string>>]
  : []

type LabelValues = Readonly<Record<string, string>>

const valuesIn = ([values = {}]: readonly LabelValues[]): LabelValues => values

type Show = (value: number, labels?: LabelValues) => void
type Read = (show: Show) => void | Promise<void>

/** The same read for all metrics of a scrape, which collects them within one tick. */
function oncePerScrape<Value>(read: () => Value): () => Value {
  let current: { readonly value: Value } | undefined
  return () => {
    if (current === undefined) {
      current = { value: read() }
      queueMicrotask(() => {
        current = undefined
      })
    }
    return current.value
  }
}

/** Registers every metric of the table. */
export function createMetrics<const Table extends MetricTable>(registry: Registry, table: Table) {
  const reads = new Map<string, Read>()
  const counters = new Map<string, Counter>()
  const histograms = new Map<string, Histogram>()
  const registers = [registry]
  for (const [name, { bucketsSeconds, help, kind, labels = [] }] of Object.entries(table)) {
    const options = { name, help, labelNames: labels, registers }
    if (kind === 'histogram') {
      const buckets = bucketsSeconds && { buckets: [...bucketsSeconds] }
      histograms.set(name, new Histogram({ ...options, ...buckets }))
    } else if (kind === 'counter') {
      const counter: Counter = new Counter({
        ...options,
        collect() {
          const read = reads.get(name)
          if (read !== undefined) counter.reset()
          return read?.((value, values = {}) => counter.inc(values, value))
        },
      })
      counters.set(name, counter)
    } else {
      const gauge: Gauge = new Gauge({
        ...options,
        collect: () => reads.get(name)?.((value, values = {}) => gauge.set(values, value)),
      })
    }
  }
  return {
    /** Counts one. */
    count: <Name extends Names<Table, 'counter'>>(
      name: Name,
      ...labels: Labels<Table[Name]>
    ): void => counters.get(name)?.inc(valuesIn(labels)),
    /** Adds what took so many seconds. */
    observe: <Name extends Names<Table, 'histogram'>>(
      name: Name,
      seconds: number,
      ...labels: Labels<Table[Name]>
    ): void => histograms.get(name)?.observe(valuesIn(labels), seconds),
    /** Begins to time something; the returned function adds how long it took. */
    startTimer: (name: Names<Table, 'histogram'>): (() => void) => {
      const end = histograms.get(name)?.startTimer()
      return () => void end?.()
    },
    /** Reads a value, or one for each set of labels, whenever metrics are scraped. A counter's is its total. */
    read: (name: Names<Table, 'counter' | 'gauge'>, read: Read): void => void reads.set(name, read),
    /** The same for several metrics that show one value: it is read once for each scrape, and each metric has its number of it. */
    readTogether: <Value>(
      read: () => Value | Promise<Value>,
      numbers: Readonly<
        Partial<Record<Names<Table, 'counter' | 'gauge'>, (value: Value) => number>>
      >,
    ): void => {
      const readOnce = oncePerScrape(read)
      for (const [name, number] of Object.entries<((value: Value) => number) | undefined>(numbers))
        reads.set(name, (show) => {
          const value = readOnce()
          const set = (found: Value): void => show(number?.(found) ?? Number.NaN)
          return value instanceof Promise ? value.then(set) : set(value)
        })
    },
  }
}

/** Figures that a part of a program keeps of itself, each with its help text. */
type Helps<Figure extends string> = Readonly<Record<Figure, string>>

const figureMetric = (prefix: string, figure: string): string =>
  `${prefix}_${figure.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`

/** Their table: `openCalls` under `usage` is the gauge `usage_open_calls`; each total is a counter. */
export const figureTable = (prefix: string, helps: Helps<string>): MetricTable =>
  Object.fromEntries(
    Object.entries(helps).map(([figure, help]) => [
      figureMetric(prefix, figure),
      { kind: figure.endsWith('Total') ? 'counter' : 'gauge', help },
    ]),
  )

/** Registers them; they are read once for each scrape. */
export function measureFigures<Figure extends string>(
  registry: Registry,
  {
    helps,
    prefix,
    read,
  }: {
    readonly prefix: string
    readonly helps: Helps<Figure>
    readonly read: () => Readonly<Record<Figure, number>>
  },
): void {
  const figures = Object.keys(helps) as Figure[]
  createMetrics(registry, figureTable(prefix, helps)).readTogether(
    read,
    Object.fromEntries(
      figures.map((figure) => [
        figureMetric(prefix, figure),
        (found: Readonly<Record<Figure, number>>) => found[figure],
      ]),
    ),
  )
}
