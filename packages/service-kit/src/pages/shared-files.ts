/** What the pages of all services share: style, icon, and the scripts of the frame. */
import { readFileSync } from 'node:fs'
import type { ServiceApp } from '../service-app.ts'
import { browserModules } from './browser-modules.ts'
import { addPageRoutes, PAGE_TYPES, type PageFile, pageFile } from './page-routes.ts'

function sharedFile(name: string, contentType: string): PageFile {
  const body = readFileSync(new URL(name, import.meta.url), 'utf8')
  return pageFile([`/pages/${name}`], contentType, body)
}

/** Serves the style sheet, the icon and the kit's own scripts. */
export function addSharedFiles(app: ServiceApp): void {
  addPageRoutes(app, [
    sharedFile('style.css', PAGE_TYPES.css),
    sharedFile('icon.svg', PAGE_TYPES.svg),
    ...browserModules({
      root: new URL('browser/', import.meta.url),
      entries: ['browser-check.ts', 'offer-copies.ts', 'reference.ts'],
    }),
  ])
}
