/** Access's pages for people but the one at `/`, and their scripts. */
import type { ServiceApp } from '@tallystick/service-kit'
import { addLivePage, addPageRoutes, browserModules } from '@tallystick/service-kit/pages'
import { type AgentPageDeps, agentPage } from './agent-page.ts'
import { type EarningsPageDeps, earningsPage } from './earnings-page.ts'

export type AccessPageDeps = AgentPageDeps & EarningsPageDeps

export function addAccessPages(app: ServiceApp, deps: AccessPageDeps): void {
  const root = new URL('browser/', import.meta.url)
  addPageRoutes(app, browserModules({ root, entries: ['agent.ts'] }))
  addLivePage(app, '/earnings', () => earningsPage(deps))
  addLivePage(app, '/agent', ({ query }) =>
    agentPage(deps, (query as Readonly<Record<string, unknown>>)['agent']),
  )
}
