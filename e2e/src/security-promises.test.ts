// Every promise of the documents about security names the test that shows it, by its title, and links to its file.
import { posix } from 'node:path'
import { expect, it } from 'vitest'
import { readSources } from '../../scripts/debt/source-files.ts'
import { root } from './spawned-stack.ts'

const DOCUMENTS = ['SECURITY.md', 'services/care/doc/security.md']
/** They promise nothing: what a document is, whom we trust, where reports go, and heads of tables. */
const NO_PROMISE =
  /^(?:#|\||What this service protects|We trust |Report vulnerabilities|Tell the maintainers)/
const LINK = /\[([^\]]+)\]\(([^)\s]+\.(?:test\.ts|contract\.ts|t\.sol))\)/g

const files = new Map(
  readSources(root, ['.ts', '.sol', '.md']).map((file) => [file.path, file.text]),
)

/** The rows of tables without their heads, the points of lists, and the paragraphs, that promise something. */
function listPromises(document: string): readonly string[] {
  const text = files.get(document) ?? ''
  return text.split(/\n\n+/).flatMap((block) => {
    if (block.startsWith('|')) return block.split('\n').slice(2)
    return block.split(/\n(?=- )/).filter((part) => !NO_PROMISE.test(part))
  })
}

const testsIn = (promise: string, document: string) =>
  [...promise.matchAll(LINK)].map(([, title = '', path = '']) => ({
    title,
    path: posix.join(posix.dirname(document), path),
  }))

/** Whether a file has a test of that title: a quoted text, or a function of Solidity. */
const hasTest = ({ title, path }: { readonly title: string; readonly path: string }): boolean => {
  const text = files.get(path) ?? ''
  const ends = [`${title}'`, `${title}\``, `function ${title}(`]
  return ends.some((end) => text.includes(end))
}

it.each(DOCUMENTS)('every promise of %s names a test that there is', (document) => {
  const promises = listPromises(document)
  expect(promises.length).toBeGreaterThan(15)
  expect(promises.filter((promise) => testsIn(promise, document).length === 0)).toEqual([])
  const tests = promises.flatMap((promise) => testsIn(promise, document))
  expect(tests.filter((test) => !hasTest(test))).toEqual([])
})
