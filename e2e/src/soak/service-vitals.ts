// What a service holds at one moment, from its own metrics.

export type Vitals = {
  readonly heapBytes: number
  readonly residentBytes: number
  readonly openFiles: number
  /** Timers, sockets, servers and the like that keep a process alive. */
  readonly resources: number
}

function metric(text: string, name: string): number {
  const line = text.split('\n').find((sample) => sample.startsWith(`${name} `))
  if (line === undefined) throw new Error(`/metrics has no ${name}`)
  return Number(line.slice(name.length + 1))
}

/** Reads a service's vitals. Throws if it does not answer. */
export async function readVitals(baseUrl: string): Promise<Vitals> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text()
  return {
    heapBytes: metric(text, 'nodejs_heap_size_used_bytes'),
    residentBytes: metric(text, 'process_resident_memory_bytes'),
    openFiles: metric(text, 'process_open_fds'),
    resources: metric(text, 'nodejs_active_resources_total'),
  }
}
