// The named blocks of a how-to page, each run as its reader would, beside the shared stack.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { readOutput, root } from './spawned-stack.ts'

type PageBlock = { readonly language: string; readonly name: string; readonly code: string }

export function readBlocks(page: string): readonly PageBlock[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```(\w+) (\S+)\n(.*?)^```$/gms)].map(
    ([, language = '', name = '', code = '']) => ({ language, name, code }),
  )
}

/** Starts a shell block in a folder; the page's addresses are the shared stack's. */
export function startBlock(
  code: string,
  folder: string,
  environment: Readonly<Record<string, string>> = {},
) {
  const { access, care, grading } = inject('stack').description
  const here = code
    .replaceAll('http://127.0.0.1:3001', access.baseUrl)
    .replaceAll('http://127.0.0.1:3002', care.baseUrl)
    .replaceAll('http://127.0.0.1:3003', grading.baseUrl)
  const env = { ...process.env, ACCESS_URL: access.baseUrl, ...environment }
  const child = spawn('bash', ['-ec', here], { cwd: folder, env, detached: true })
  return { child, output: readOutput(child) }
}
