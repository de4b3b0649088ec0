// The thread of a CompilerThread: a program comes in, its compilation goes out.
import { parentPort } from 'node:worker_threads'
import { compileProgram, type Program } from './compiler.ts'

parentPort?.on('message', (program: Program) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(compileProgram(program))
})
