import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/**
 * Runs axe-core on a page as it stands, or of its rules only those named; returns what it objects to, with the elements.
 */
export async function axeFindings(
  page: Page,
  rules?: readonly string[],
): Promise<readonly string[]> {
  // Compiling axe takes as long as running it, and a page is often judged in several states.
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(axeSource)
  return await page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(options: { resultTypes: string[]; runOnly?: readonly string[] }): Promise<{
          violations: { id: string; help: string; nodes: { target: unknown[] }[] }[]
        }>
      }
    }
    const { violations } = await axe.run({
      resultTypes: ['violations'],
      ...(only && { runOnly: only }),
    })
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help} (${nodes.map(({ target }) => target.join(' ')).join(', ')})`,
    )
  }, rules)
}
