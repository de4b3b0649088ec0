/** The head of an English page, whose words its scripts read, for tests without a browser. */
import { afterAll, beforeAll, vi } from 'vitest'
import { type PageName, pageWords } from './page-words.ts'

/** Registers a file's hooks. The clinic is where `timeZone` says. */
export function useEnglishHead(page: PageName, timeZone = 'UTC'): void {
  const words = JSON.stringify(pageWords('en', page))
  beforeAll(() => {
    vi.stubGlobal('document', {
      querySelector: (selector: string) => ({
        getAttribute: () => (selector.includes('time-zone') ? timeZone : words),
      }),
    })
  })
  afterAll(() => {
    vi.unstubAllGlobals()
  })
}
