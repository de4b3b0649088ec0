// The blocks of the documents that a person copies: all fences of a page, and a shell block beside the shared stack.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LOCAL_STACK_FILE } from '@tallystick/service-kit/stack-environment'
import { inject } from 'vitest'
import { type StackDescription, writeStackFile } from '../../scripts/stack/stack-file.ts'
import { cloneCheckout, readersPath } from './readers-shell.ts'
import { readOutput, root } from './spawned-stack.ts'

/** `name` is what stands behind the language: the file in which a reader saves the block, or what a test knows it by. */
export type PageBlock = { readonly language: string; readonly name: string; readonly code: string }

export function readBlocks(page: string): readonly PageBlock[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```(\w*) ?(\S*)\n(.*?)^```$/gms)].map(
    ([, language = '', name = '', code = '']) => ({ language, name, code }),
  )
}

/** The documented ports, each with where the stack has what listens there. */
const documentedPorts = (
  stack: StackDescription,
): Readonly<Record<string, string | undefined>> => ({
  3001: stack.access.baseUrl,
  3002: stack.care.baseUrl,
  3003: stack.grading.baseUrl,
  3004: stack.signIn?.url,
  4020: stack.facilitator.url,
  5551: stack.ledger.mirrorUrl,
  7546: stack.ledger.rpcUrl,
  8546: stack.xlayer.rpcUrl,
  50211: `http://${stack.ledger.consensus}`,
})

/** A text of the documents with the stack's own ports, since a test's stack does not use the documented ones. */
export function withPorts(stack: StackDescription, text: string): string {
  const ports = documentedPorts(stack)
  return text.replaceAll(/(?<=\b(?:127\.0\.0\.1|localhost):)\d+/g, (port) => {
    const url = ports[port]
    return url === undefined ? port : new URL(url).port
  })
}

/** Makes the reader's clone, in whose folder the shared stack runs as far as its commands can see. */
export function cloneBeside(
  { description }: { readonly description: StackDescription },
  folder: string,
): void {
  cloneCheckout(folder)
  writeStackFile(join(folder, LOCAL_STACK_FILE), description)
}

/** Starts a shell block in a folder, beside the shared stack. */
export function startBlock(
  code: string,
  folder: string,
  environment: Readonly<Record<string, string>> = {},
) {
  const { description } = inject('stack')
  // Vitest's own, and none of a reader's: care would take it for its address.
  const { BASE_URL: _, ...inherited } = process.env
  const env = {
    ...inherited,
    PATH: readersPath(),
    ACCESS_URL: description.access.baseUrl,
    ...environment,
  }
  const child = spawn('bash', ['-ec', withPorts(description, code)], {
    cwd: folder,
    env,
    detached: true,
  })
  return { child, output: readOutput(child) }
}
