/** Pages of a service for people: files read at start, served under a strict policy, in one style. */
export { frameSheet, PAGE_TYPES, type PageFile, pageFile } from './page-file.ts'
export { pagePolicy } from './page-policy.ts'
export { addPageRoutes, homeHook, type Pages } from './page-routes.ts'
