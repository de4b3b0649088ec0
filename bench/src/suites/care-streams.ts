// How much server memory ten thousand listening sessions take, against fewer on the SDK's transport: both are reported
// per session, and ours also in total.
import { type Figure, judgeFigure } from '../figure.ts'
import { forEachSession, McpLoad } from '../mcp-load.ts'
import { ServerProcess } from '../server-process.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const SESSIONS = 10_000
/** The baseline's sessions: its memory grows evenly, and each costs several times ours. */
const SDK_SESSIONS = 2_000
/** Opened first, so that first-request allocations are not counted. */
const WARM_SESSIONS = 200
const MEGABYTE = 1_000_000
const KIBIBYTE = 1_024

type Memory = { readonly heapBytes: number; readonly rssBytes: number }

/** What this many sessions with a stream add to the idle process, after garbage collection. */
async function measureMemory(server: ServerProcess, sessions: number): Promise<Memory> {
  const load = new McpLoad(server.url)
  try {
    await load.openSessions(WARM_SESSIONS)
    const before = await server.figures('collect')
    const ids = await load.openSessions(sessions)
    await forEachSession(ids, (id) => load.openStream(id))
    const after = await server.figures('collect')
    return {
      heapBytes: after.heapBytes - before.heapBytes,
      rssBytes: after.rssBytes - before.rssBytes,
    }
  } finally {
    load.close()
    await server.stop()
  }
}

/** Memory of sessions that listen. */
export async function measureCareStreams(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const server = await ServerProcess.start('care-server.ts', [folder.file('care.db'), 'clear'])
  const ours = await measureMemory(server, SESSIONS)
  const sdk = await measureMemory(
    await ServerProcess.start('sdk-server.ts', [folder.file('sdk.db')]),
    SDK_SESSIONS,
  )
  const scaled = SESSIONS / SDK_SESSIONS
  const name = `the SDK's transport, from ${SDK_SESSIONS} sessions`
  return [
    judgeFigure({
      name: 'RSS above idle, 10,000 sessions with a stream',
      value: ours.rssBytes / MEGABYTE,
      unit: 'MB',
      baseline: { name, value: (sdk.rssBytes * scaled) / MEGABYTE },
      aim: { kind: 'at-most', value: 200 },
    }),
    judgeFigure({
      name: 'heap per session with a stream, of 10,000',
      value: ours.heapBytes / SESSIONS / KIBIBYTE,
      unit: 'KiB',
      baseline: { name, value: sdk.heapBytes / SDK_SESSIONS / KIBIBYTE },
      aim: { kind: 'ratio', times: 3 },
    }),
  ]
}
