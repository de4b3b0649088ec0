/**
 * A program's metrics, made from tables: one says of each metric the name, kind, help and labels, and nothing else does (S4).
 * Ours, since a scrape by the usual library took milliseconds, and each count on the way of a request microseconds.
 */
import { getOrMake } from './bounded.ts'

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

/** A line of /metrics: what stands before its number is made once, since a busy service has hundreds of them. */
type Line = {
  readonly head: string
  value: number
  /** What an observation adds to it. */
  readonly share: (seconds: number) => number
}

/** What a metric's lines end their names with, their label beside the metric's own, and what they count. */
type Part = {
  readonly suffix: string
  readonly label?: string
  readonly share: Line['share']
}

const ONE: Part = { suffix: '', share: () => 1 }

const histogramParts = (boundsSeconds: readonly number[]): readonly Part[] => [
  ...[...boundsSeconds, Number.POSITIVE_INFINITY].map((bound) => ({
    suffix: '_bucket',
    label: `le="${numberText(bound)}"`,
    share: (seconds: number) => Number(seconds <= bound),
  })),
  { suffix: '_sum', share: (seconds) => seconds },
  { suffix: '_count', share: () => 1 },
]

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : `${value > 0 ? '+' : '-'}Inf`
}

const escaped = (text: string): string =>
  text.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))

/** A metric's lines, for each set of its labels' values. */
class MetricLines {
  readonly #name: string
  readonly #labels: readonly string[]
  readonly #parts: readonly Part[]
  readonly #title: string
  readonly #sets = new Map<string, readonly Line[]>()

  constructor(name: string, { bucketsSeconds = [], help, kind, labels = [] }: Metric) {
    this.#name = name
    this.#labels = labels
    this.#parts = kind === 'histogram' ? histogramParts(bucketsSeconds) : [ONE]
    this.#title = `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`
    if (labels.length === 0) this.find({})
  }

  find(values: LabelValues): readonly Line[] {
    const key = this.#labels.map((label) => values[label]).join('\0')
    return getOrMake(this.#sets, key, () => {
      const own = this.#labels.map((label) => `${label}="${escaped(values[label] ?? '')}"`)
      return this.#parts.map(({ label, share, suffix }) => {
        const labels = [...(label === undefined ? [] : [label]), ...own].join(',')
        const head = `${this.#name}${suffix}${labels === '' ? '' : `{${labels}}`} `
        return { head, share, value: 0 }
      })
    })
  }

  add(values: LabelValues, seconds: number): void {
    for (const line of this.find(values)) line.value += line.share(seconds)
  }

  set(values: LabelValues, value: number): void {
    for (const line of this.find(values)) line.value = value
  }

  text(): string {
    let text = this.#title
    for (const lines of this.#sets.values())
      for (const { head, value } of lines) text += `${head}${numberText(value)}\n`
    return text
  }
}

type Show = (value: number, labels?: LabelValues) => void
type Read = (show: Show) => void | Promise<void>

/** The metrics of a program, as Prometheus reads them. */
export class Registry {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8'
  readonly #metrics = new Map<string, MetricLines>()
  readonly #reads: (() => void | Promise<void>)[] = []

  add(name: string, metric: Metric): MetricLines {
    if (this.#metrics.has(name)) throw new Error(`there is a metric ${name} already`)
    const lines = new MetricLines(name, metric)
    this.#metrics.set(name, lines)
    return lines
  }

  /** Runs at each scrape. */
  addRead(read: () => void | Promise<void>): void {
    this.#reads.push(read)
  }

  /** All of them, read anew. Rejects if a read does. */
  async metrics(): Promise<string> {
    await Promise.all(this.#reads.map(async (read) => read()))
    let text = ''
    for (const lines of this.#metrics.values()) text += lines.text()
    return text
  }
}

/** Registers every metric of the table. */
export function createMetrics<const Table extends MetricTable>(registry: Registry, table: Table) {
  const metrics = new Map(
    Object.entries(table).map(([name, metric]) => [name, registry.add(name, metric)]),
  )
  const observe = (name: string, seconds: number, labels: LabelValues = {}): void =>
    metrics.get(name)?.add(labels, seconds)
  return {
    /** Counts one. */
    count: <Name extends Names<Table, 'counter'>>(
      name: Name,
      ...labels: Labels<Table[Name]>
    ): void => observe(name, 1, valuesIn(labels)),
    /** Adds what took so many seconds. */
    observe: <Name extends Names<Table, 'histogram'>>(
      name: Name,
      seconds: number,
      ...labels: Labels<Table[Name]>
    ): void => observe(name, seconds, valuesIn(labels)),
    /** Begins to time something; the returned function adds how long it took. */
    startTimer: (name: Names<Table, 'histogram'>): (() => void) => {
      const startMs = performance.now()
      return () => observe(name, (performance.now() - startMs) / 1_000)
    },
    /** Reads a value, or one for each set of labels, whenever metrics are scraped. A counter's is its total. */
    read: (name: Names<Table, 'counter' | 'gauge'>, read: Read): void =>
      registry.addRead(() => read((value, labels = {}) => metrics.get(name)?.set(labels, value))),
    /** The same for several metrics that show one value: it is read once for each scrape, and each metric has its number of it. */
    readTogether: <Value>(
      read: () => Value | Promise<Value>,
      numbers: Readonly<
        Partial<Record<Names<Table, 'counter' | 'gauge'>, (value: Value) => number>>
      >,
    ): void => {
      const show = (value: Value): void => {
        for (const [name, number] of Object.entries<((found: Value) => number) | undefined>(
          numbers,
        ))
          metrics.get(name)?.set({}, number?.(value) ?? Number.NaN)
      }
      registry.addRead(() => {
        const value = read()
        return value instanceof Promise ? value.then(show) : show(value)
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
