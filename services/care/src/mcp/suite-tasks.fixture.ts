// The Tasks extension (SEP-2663) as the conformance suite calls it, added to the edge like any extension. Its tasks end after
// some questions, not after a time. For suite-server.fixture.ts.
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { parseParams, RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import { z } from 'zod'
import type { ModernExtensions } from './edges/modern-route.ts'
import type { McpMethod } from './methods/dispatch.ts'
import type { SuiteCall } from './suite-inputs.fixture.ts'

const TASKS = 'io.modelcontextprotocol/tasks'

type Task = {
  readonly taskId: string
  /** What it still waits for, by the input's id. */
  readonly open: Map<string, object>
  /** Questions until it ends. */
  looksLeft: number
  isCancelled: boolean
  /** Its result, with its final status. */
  readonly end: { readonly status: 'completed' | 'failed' } & Readonly<Record<string, unknown>>
}

const meta = z.object({
  'io.modelcontextprotocol/clientCapabilities': z.looseObject({
    extensions: z.looseObject({}).optional(),
  }),
})
const taskParams = z.object({
  taskId: z.string(),
  inputResponses: z.record(z.string(), z.unknown()).optional(),
  _meta: meta,
})

const hasTasks = (input: unknown): boolean => {
  const { extensions } = meta.parse(input)['io.modelcontextprotocol/clientCapabilities']
  return extensions !== undefined && TASKS in extensions
}
const missingTasks = () =>
  new RpcFailure(RPC_CODES.missingCapability, 'The client has no tasks', {
    requiredCapabilities: { extensions: { [TASKS]: {} } },
  })

const tasks = new Map<string, Task>()
const AT = '2026-11-21T12:00:00.000Z'

const readStatus = ({ end, isCancelled, looksLeft, open }: Task) => {
  if (isCancelled) return 'cancelled'
  if (open.size > 0) return 'input_required'
  return looksLeft > 0 ? 'working' : end.status
}
const shown = (task: Task) => ({
  taskId: task.taskId,
  status: readStatus(task),
  createdAt: AT,
  lastUpdatedAt: AT,
  ttlMs: 60_000,
  pollIntervalMs: 100,
})

type Work = { readonly looksLeft?: number; readonly inputs?: Readonly<Record<string, object>> }

function begin(end: Task['end'], { inputs = {}, looksLeft = 1 }: Work = {}): Result {
  const open = new Map(Object.entries(inputs))
  const task = { taskId: `task-${tasks.size}`, open, looksLeft, isCancelled: false, end }
  tasks.set(task.taskId, task)
  return { resultType: 'task', ...shown(task) }
}

const content = (text: string) => ({ content: [{ type: 'text', text }] })
const done = (text: string): Task['end'] => ({ status: 'completed', result: content(text) })
const confirm = {
  method: 'elicitation/create',
  params: {
    message: 'Really?',
    requestedSchema: { type: 'object', properties: { confirm: { type: 'boolean' } } },
  },
}

/** Tools that end as tasks, and what a client without tasks gets. */
const TASK_TOOLS: Readonly<Record<string, (call: SuiteCall) => Result>> = {
  slow_compute: ({ arguments: passed }) =>
    // The suite's one-minute tasks must not end by themselves.
    begin(done('computed'), { looksLeft: passed?.['seconds'] === 60 ? Infinity : 1 }),
  failing_job: () =>
    begin({ status: 'completed', result: { ...content('failed'), isError: true } }),
  protocol_error_job: () =>
    begin({
      status: 'failed',
      error: { code: RPC_CODES.internalError, message: 'Internal error' },
    }),
  confirm_delete: () => begin(done('deleted'), { inputs: { confirm } }),
  multi_input: () => begin(done('both'), { inputs: { first: confirm, second: confirm } }),
  test_tool_with_task: ({ inputResponses }) => begin(done(JSON.stringify(inputResponses))),
}
const AT_ONCE: Readonly<Record<string, Result>> = { slow_compute: content('computed') }

export const TASK_TOOL_NAMES = Object.keys(TASK_TOOLS)

/** Begins a tool's task; undefined if the tool has none. */
export function beginTask(call: SuiteCall): Result | undefined {
  const tool = Object.hasOwn(TASK_TOOLS, call.name) ? TASK_TOOLS[call.name] : undefined
  if (tool === undefined || hasTasks(call._meta)) return tool?.(call)
  const result = AT_ONCE[call.name]
  if (result === undefined) throw missingTasks()
  return result
}

const onTask =
  (run: (task: Task, inputs: Readonly<Record<string, unknown>>) => Result): McpMethod =>
  async (_context, params) => {
    const { _meta, inputResponses = {}, taskId } = parseParams(taskParams, params)
    if (!hasTasks(_meta)) throw missingTasks()
    const task = tasks.get(taskId)
    if (task === undefined) throw new RpcFailure(RPC_CODES.invalidParams, 'params.taskId: unknown')
    return run(task, inputResponses)
  }

/** Its capability is one of `extensions`. */
export const TASKS_EXTENSION: ModernExtensions = {
  capabilities: { [TASKS]: {} },
  methods: {
    'tasks/get': onTask((task) => {
      const view = shown(task)
      if (view.status === 'input_required')
        return { ...view, inputRequests: Object.fromEntries(task.open) }
      if (view.status === 'working') task.looksLeft -= 1
      return view.status === task.end.status ? { ...task.end, ...view } : view
    }),
    'tasks/update': onTask(({ open }, inputs) => {
      for (const id of Object.keys(inputs)) open.delete(id)
      return {}
    }),
    'tasks/cancel': onTask((task) => {
      if (readStatus(task) !== task.end.status) task.isCancelled = true
      return {}
    }),
  },
}
