/** The head of an English page, whose words its scripts read, for tests without a browser. */
import { afterAll, beforeAll, vi } from 'vitest'
import { type PageName, pageWords } from './page-words.ts'

/** Registers a file's hooks. */
export function useEnglishHead(page: PageName): void {
  const content = JSON.stringify(pageWords('en', page))
  beforeAll(() => {
    vi.stubGlobal('document', { querySelector: () => ({ getAttribute: () => content }) })
  })
  afterAll(() => {
    vi.unstubAllGlobals()
  })
}
