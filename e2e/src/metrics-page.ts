// The metrics that docs/how-to/watch-it-run.md lists, and those that a service serves.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './spawned-stack.ts'

export type Metric = {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
}

const page = readFileSync(join(root, 'docs/how-to/watch-it-run.md'), 'utf8')

/** The metrics listed on the page under a heading. */
export function documentedMetrics(heading: string): readonly Metric[] {
  const [, after = ''] = page.split(`### ${heading}\n`)
  const [section = ''] = after.split('\n#')
  return [...section.matchAll(/^\| `(\w+)` \| (\w+) \|([^|]*)\|/gm)].map(
    ([, name = '', type = '', labels = '']) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
    }),
  )
}

/** Name and type of each metric in the answer of /metrics, sorted. */
export const typesIn = (text: string): readonly string[] =>
  [...text.matchAll(/^# TYPE (\w+ \w+)$/gm)].map(([, nameAndType = '']) => nameAndType).toSorted()
