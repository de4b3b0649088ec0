import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

async function judge(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
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

/**
 * Runs axe-core on a page as it stands; returns what it objects to, with the elements. `inDarkToo` judges the page in light
 * colours and then in dark ones, in which only contrast can differ, and leaves it light.
 */
export async function axeFindings(
  page: Page,
  { inDarkToo = false } = {},
): Promise<readonly string[]> {
  if (!inDarkToo) return await judge(page)
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await judge(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await judge(page, ['color-contrast'])
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark.map((finding) => `dark: ${finding}`)]
}
