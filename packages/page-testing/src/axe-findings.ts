import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/** Runs axe-core on a page as it stands; returns what it objects to, with the elements. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource)
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<{
          violations: { id: string; help: string; nodes: { target: unknown[] }[] }[]
        }>
      }
    }
    const { violations } = await axe.run()
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help} (${nodes.map(({ target }) => target.join(' ')).join(', ')})`,
    )
  })
}
