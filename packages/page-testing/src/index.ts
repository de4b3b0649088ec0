export { axeFindings } from './axe-findings.ts'
export { chromiumMissing, launchChromium } from './launch-chromium.ts'
export { type PolicyTrial, policyBreaches, tryPolicy } from './try-policy.ts'
export { type WatchedPage, watchPage } from './watch-page.ts'
