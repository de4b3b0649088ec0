// One skill of the Skills extension (SEP-2640), as the conformance suite looks for it. For suite-server.fixture.ts.
import { createHash } from 'node:crypto'
import { ReadResourceRequestParamsSchema } from '@modelcontextprotocol/sdk/types.js'
import { parseParams } from '@tallystick/service-kit/mcp'
import type { ModernExtensions } from './edges/modern-route.ts'
import type { McpMethod } from './methods/dispatch.ts'
import { resourceNotFound } from './methods/resource-methods.ts'

const FOLDER = 'skill://tea-making'
const FRONT = { name: 'tea-making', description: 'How tea is made.' }
const MARKDOWN = 'text/markdown'
const FILES: Readonly<Record<string, string>> = {
  [`${FOLDER}/SKILL.md`]: `---\nname: ${FRONT.name}\ndescription: ${FRONT.description}\n---\nBoil water.\n`,
  [`${FOLDER}/notes/milk.md`]: 'Last.\n',
}
const MANIFEST = { uri: `${FOLDER}/SKILL.md`, mimeType: MARKDOWN, ...FRONT }
const SKILL = {
  uri: MANIFEST.uri,
  frontmatter: FRONT,
  resources: Object.entries(FILES).map(([uri, text]) => ({
    uri,
    digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
    size: Buffer.byteLength(text),
  })),
}
const CACHED = { ttlMs: 0, cacheScope: 'private' }

/** As in `resources/list` and `resources/read`. */
export const SKILL_RESOURCES = [MANIFEST]
export const readSkillFile = (uri: string): object | undefined =>
  Object.hasOwn(FILES, uri) ? { uri, mimeType: MARKDOWN, text: FILES[uri] } : undefined

const ofUri =
  (known: string, result: object): McpMethod =>
  async (_context, params) => {
    const { uri } = parseParams(ReadResourceRequestParamsSchema, params)
    if (uri !== known) throw resourceNotFound(uri)
    return { ...result }
  }

/** Its capability is one of `extensions`. */
export const SKILLS_EXTENSION: ModernExtensions = {
  capabilities: { 'io.modelcontextprotocol/skills': { directoryRead: true } },
  methods: {
    'skills/list': async () => ({ skills: [SKILL], ...CACHED }),
    'skills/get': ofUri(SKILL.uri, { skill: SKILL, ...CACHED }),
    'resources/directory/read': ofUri(FOLDER, {
      resources: [MANIFEST, { uri: `${FOLDER}/notes`, name: 'notes', mimeType: 'inode/directory' }],
    }),
  },
}
