import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { root } from './spawned-stack.ts'

const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n')
const documents = tracked.filter((file) => /\.md$|llms\.txt$/.test(file))

/** Targets of links into the repository, ignoring code. */
function localLinks(text: string): readonly string[] {
  const prose = text.replaceAll(/```.*?```/gs, '').replaceAll(/`[^`\n]*`/g, '')
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
  return targets.filter((target) => !/^[a-z]+:|^\//.test(target))
}

/** A heading's anchor. */
function headingAnchor(heading: string): string {
  const text = heading.replace(/^#+\s+/, '').toLowerCase()
  return text.replaceAll(/[^\p{L}\p{N}\- _]/gu, '').replaceAll(' ', '-')
}

function anchorsIn(file: string): readonly string[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => /^#+\s/.test(line)).map(headingAnchor)
}

describe('documents', () => {
  it.each(documents)('every link of %s leads somewhere', (document) => {
    const dead = localLinks(readFileSync(join(root, document), 'utf8')).filter((link) => {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? join(root, document) : join(root, dirname(document), path)
      if (!existsSync(target)) return true
      return anchor !== undefined && target.endsWith('.md') && !anchorsIn(target).includes(anchor)
    })
    expect(dead).toEqual([])
  })

  it('every how-to and every decision is in its index', () => {
    for (const folder of ['docs/how-to', 'docs/decisions']) {
      const index = readFileSync(join(root, folder, 'README.md'), 'utf8')
      const pages = tracked.filter(
        (file) => file.startsWith(`${folder}/`) && /\/(?!README)[^/]+\.md$/.test(file),
      )
      for (const page of pages) expect(index).toContain(page.slice(folder.length + 1))
    }
  })

  it('every npm script that a document names exists', () => {
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))
    for (const document of documents) {
      const text = readFileSync(join(root, document), 'utf8')
      for (const [, name = ''] of text.matchAll(/npm run (?:--silent )?([a-z][a-z:-]*)/g))
        expect(Object.keys(scripts), `${name} in ${document}`).toContain(name)
    }
  })
})

function careFile(name: string): unknown {
  return JSON.parse(readFileSync(join(root, 'services/care', name), 'utf8'))
}

describe("care's MCP registry entry", () => {
  const Entry = z.strictObject({
    $schema: z.url(),
    name: z
      .string()
      .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
      .max(200),
    title: z.string().max(100),
    description: z.string().min(1).max(100), // the registry's limits
    version: z.string(),
    remotes: z.array(
      z.strictObject({
        type: z.literal('streamable-http'),
        url: z.string(),
        variables: z.record(
          z.string(),
          z.strictObject({ description: z.string(), isRequired: z.boolean() }),
        ),
        headers: z.array(
          z.strictObject({
            name: z.string(),
            description: z.string(),
            isRequired: z.boolean(),
            isSecret: z.boolean(),
          }),
        ),
      }),
    ),
  })
  it('has the registry’s shape, the package’s version, and every variable of its address', () => {
    const entry = Entry.parse(careFile('server.json'))
    expect(entry.version).toBe(
      z.object({ version: z.string() }).parse(careFile('package.json')).version,
    )
    for (const { url, variables } of entry.remotes) {
      const names = [...url.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)
      expect(Object.keys(variables)).toEqual(names)
    }
  })
})
