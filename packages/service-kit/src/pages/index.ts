/** Pages for people: one frame, one style, one strict policy, scripts in TypeScript. */
export { browserModules } from './browser-modules.ts'
export { Html, html } from './html.ts'
export { filledMarkup, kitLinks, type Page, pageFrame } from './page-frame.ts'
export {
  addLivePage,
  addPageRoutes,
  framedPage,
  PAGE_TYPES,
  type PageFile,
  pageFile,
  pagePolicy,
} from './page-routes.ts'
export { addSharedFiles } from './shared-files.ts'
