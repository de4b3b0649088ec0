import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { projects: ['packages/*', 'services/*', 'e2e'] } })
